import signal

import extension

signal.alarm(30)
extension.start(["job"])
print("end of script")
