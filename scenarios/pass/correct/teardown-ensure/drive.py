import signal

import extension

signal.alarm(30)
handle = extension.handle(["owned"])
print("end of script", flush=True)
