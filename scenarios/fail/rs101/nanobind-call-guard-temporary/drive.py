import signal

import extension

signal.alarm(30)
extension.produce(["item"])
extension.consume()
print("consumed")
