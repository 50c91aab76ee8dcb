import ctypes
import os
import signal
import sys


def built(name):
    """The library that the scenario was built with."""
    for directory in sys.path:
        path = os.path.join(directory, name)
        if os.path.exists(path):
            return path
    raise SystemExit("no " + name + " on sys.path")


signal.alarm(30)
# PyDLL keeps the GIL, CDLL releases it around the call.
attached = ctypes.PyDLL(built("libkeeper.so"))
library = ctypes.CDLL(built("libkeeper.so"))
attached.keep.argtypes = [ctypes.py_object]
attached.keep(["the only reference"])
print(library.drop())
