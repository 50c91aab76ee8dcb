import signal
import sys
import threading
import time

import extension


class Lingering:
    """Makes finalization last, with the GIL released; sys is torn down on every version."""

    def __del__(self, sleep=time.sleep):
        sleep(0.4)


def serve():
    while True:
        extension.wait()


signal.alarm(30)
sys.lingering = Lingering()
threading.Thread(target=serve, daemon=True).start()
time.sleep(0.05)
print("end of script", flush=True)
