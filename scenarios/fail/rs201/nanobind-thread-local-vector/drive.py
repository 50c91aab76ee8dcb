import signal

import extension

signal.alarm(30)
extension.remember(["remembered"])
print("end of script")
