import signal

import extension

signal.alarm(30)
extension.compute()
print("computed")
