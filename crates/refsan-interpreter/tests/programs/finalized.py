"""Stays after finalization, in an exit handler of the C library.

Writes its version and the addresses of objects to the file named by the first
argument.
"""
import ctypes
import sys
import threading
import time


class Widget:
    pass


class Leaked:
    pass


kept = [Widget(), {}, None, 1]
leaked = [Leaked(), {}, []]
for value in leaked:
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(value))
threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
libc = ctypes.CDLL(None)
libc.on_exit(ctypes.cast(libc.pause, ctypes.c_void_p), None)
with open(sys.argv[1], "w") as output:
    for mark, values in [("object", kept), ("leaked", leaked)]:
        for value in values:
            print(mark, id(value), type(value).__name__, file=output)
    print("version", sys.hexversion, int(not getattr(sys, "_is_gil_enabled", lambda: True)()),
          file=output)
