import atexit
import signal
import sys
import threading
import time

import extension


class Lingering:
    """Makes finalization last, with the GIL released; sys is torn down on every version."""

    def __del__(self, sleep=time.sleep):
        sleep(0.4)


stopping = threading.Event()


def serve():
    while not stopping.is_set():
        extension.wait()


def stop():
    stopping.set()
    server.join()


signal.alarm(30)
sys.lingering = Lingering()
server = threading.Thread(target=serve, daemon=True)
server.start()
atexit.register(stop)
time.sleep(0.05)
print("end of script", flush=True)
