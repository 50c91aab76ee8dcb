"""Threads that never stop calling, to be read while they change.

Writes its version to the file named by the first argument.
"""
import sys
import threading

sys.setswitchinterval(1e-5)


def deep(depth):
    return deep(depth - 1) if depth else [wide(n) for n in range(3)]


def wide(number):
    return sorted(range(number), key=lambda n: -n)


def produce(count):
    for number in range(count):
        yield deep(number)


def made_anew():
    source = "def fresh(n):\n    return [fresh(n - 1) for _ in range(2)] if n else []\nfresh(4)\n"
    exec(compile(source, "fresh.py", "exec"), {})


def worker():
    while True:
        for item in produce(20):
            item.clear()
        made_anew()
        threading.Thread(target=made_anew).start()


for _ in range(3):
    threading.Thread(target=worker, daemon=True).start()
with open(sys.argv[1], "w") as output:
    print("version", sys.hexversion, int(not getattr(sys, "_is_gil_enabled", lambda: True)()),
          file=output)
worker()
