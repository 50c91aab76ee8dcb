import signal

import extension

signal.alarm(30)
extension.post(["the only reference"])
extension.drain()
print("drained")
