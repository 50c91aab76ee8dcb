import signal

import extension

signal.alarm(30)
extension.keep(["kept by the module"])
capsule = extension.capsule(["owned by the capsule"])
print("end of script", flush=True)
