import signal

import extension

signal.alarm(30)
extension.enroll(["remembered"])
print("end of script")
