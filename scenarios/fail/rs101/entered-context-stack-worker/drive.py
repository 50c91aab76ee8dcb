import os
import signal
import threading
import time

import extension


class Context:
    def __enter__(self):
        extension.push(self)
        return self

    def __exit__(self, *exception):
        extension.pop()


def work():
    Context().__enter__()


signal.alarm(30)
thread = threading.Thread(target=work)
thread.start()
thread.join()
while os.path.exists("/proc/self/task/%d" % thread.native_id):
    time.sleep(0.01)  # the destructors of the system's thread run after join()
print("joined")
