import os
import signal

import extension

signal.alarm(30)
print(extension.churn(), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
