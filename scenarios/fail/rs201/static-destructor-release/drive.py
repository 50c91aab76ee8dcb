import signal

import extension

signal.alarm(30)
extension.enroll(["registered"])
print("end of script")
