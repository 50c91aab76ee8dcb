import signal

from extension import ffi, lib

signal.alarm(30)
seen = []


@ffi.def_extern()
def on_sample(number):
    seen.append([number])
    return 2 * number


print(lib.call_from_thread(100), len(seen))
