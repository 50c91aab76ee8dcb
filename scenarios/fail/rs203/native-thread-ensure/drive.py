import signal
import sys
import time

import extension


class Lingering:
    """Makes finalization last, with the GIL released; sys is torn down on every version."""

    def __del__(self, sleep=time.sleep):
        sleep(0.4)


signal.alarm(30)
sys.lingering = Lingering()
extension.start()
print("end of script", flush=True)
