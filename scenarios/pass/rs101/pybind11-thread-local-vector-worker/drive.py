import os
import signal
import threading
import time

import extension


def work():
    extension.remember(["remembered by a worker"])
    extension.forget()


signal.alarm(30)
thread = threading.Thread(target=work)
thread.start()
thread.join()
while os.path.exists("/proc/self/task/%d" % thread.native_id):
    time.sleep(0.01)  # the destructors of the system's thread run after join()
print("joined")
