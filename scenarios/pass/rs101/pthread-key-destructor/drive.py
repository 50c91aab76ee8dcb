import signal

import extension

signal.alarm(30)
extension.run()
print("ran")
