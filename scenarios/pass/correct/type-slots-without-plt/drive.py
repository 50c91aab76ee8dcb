import collections.abc
import gc
import signal

import extension


class Sack(extension.Bag):
    pass


signal.alarm(30)
for kind in (extension.Bag, Sack):
    bag = kind()
    try:
        hash(bag)
    except TypeError as error:
        print(kind.__name__, "is unhashable:", error)
    print(kind.__hash__, isinstance(bag, collections.abc.Hashable))
    for _ in range(1000):
        kind()
del bag
gc.collect()
print("collected")
