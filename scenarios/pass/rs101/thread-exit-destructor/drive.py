import signal
import threading
import time

import extension


def work():
    extension.cache(["cached by a worker"])
    extension.clear()


signal.alarm(30)
thread = threading.Thread(target=work)
thread.start()
thread.join()
while extension.count() == 0:
    time.sleep(0.01)
print("joined")
