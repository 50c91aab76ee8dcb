import signal

import extension

signal.alarm(30)
extension.use([])
print("end of script")
