import signal

from extension import lib

signal.alarm(30)
print(lib.search(3000))
