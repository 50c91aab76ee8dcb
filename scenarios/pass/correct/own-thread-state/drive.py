import signal
import threading

import extension

signal.alarm(30)
print(extension.run([]))
sizes = []
threads = [threading.Thread(target=lambda: sizes.append(extension.run([]))) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(sizes)
