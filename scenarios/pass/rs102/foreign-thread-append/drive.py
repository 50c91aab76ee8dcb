import signal

import extension

signal.alarm(30)
samples = []
print(extension.acquire(samples), samples)
