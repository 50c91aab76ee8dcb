import signal

import extension

signal.alarm(30)
extension.open()
print("end of script")
