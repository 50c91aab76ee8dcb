import signal

import extension

signal.alarm(30)
print(extension.load())
