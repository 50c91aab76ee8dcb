import signal
import threading

import extension

signal.alarm(30)
print(extension.lend([]))


def work():
    for _ in range(50):
        extension.lend([])


threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("joined")
