import signal

import extension

signal.alarm(30)
extension.process([["job"]])
print("processed")
