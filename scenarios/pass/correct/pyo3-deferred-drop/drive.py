import signal

import extension


class Tracked:
    released = 0

    def __del__(self):
        Tracked.released += 1


signal.alarm(30)
objects = [Tracked() for _ in range(10)]
while objects:
    extension.drop_elsewhere(objects.pop())
print("appended", extension.append_elsewhere([]))
print("released", Tracked.released)
