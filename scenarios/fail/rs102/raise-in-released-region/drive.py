import signal

import extension

signal.alarm(30)
try:
    extension.flush()
except OSError as error:
    print("raised", error)
