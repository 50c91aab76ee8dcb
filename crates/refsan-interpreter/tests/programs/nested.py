"""Two threads and a subinterpreter that block in known places.

Writes what a reader of this process must find to the file named by the first
argument, with the traceback of faulthandler, which needs no thread state.
"""
import collections
import decimal
import faulthandler
import functools
import sys
import threading
import time

try:
    import _interpreters
except ImportError:
    import _xxsubinterpreters as _interpreters

release = threading.Event()


class Widget:
    def blocked(self, ready):
        ready.set()
        release.wait(60)  # marker: worker 0

    class Inner:
        pass


def größe(ready):
    text = (
        "a" +
        str(ready)
    )
    return [
        Widget().blocked(ready)  # marker: worker 1
        for _ in text[:1]
    ]


def 函数(ready):
    def key(value):
        return größe(ready)  # marker: worker 3

    return sorted(
        [1],
        key=key)


def generate(ready):
    try:
        yield 函数(ready)  # marker: worker 6
    finally:
        pass


def worker(ready):
    for item in generate(ready):  # marker: worker 7
        print(item)


def isolated(ready):
    number = _interpreters.create()
    ready.set()
    _interpreters.run_string(number, "import time\n\ntime.sleep(60)\n")  # marker: isolated


def start(target):
    ready = threading.Event()
    thread = threading.Thread(target=target, args=(ready,), daemon=True)
    thread.start()
    ready.wait()
    return thread


def recurse(depth, then):
    if depth:
        return recurse(depth - 1, then)  # marker: recursion
    return functools.partial(then)()


def main():
    start(worker)
    start(isolated)
    objects = [
        ("dict", {}), ("list", []), ("NoneType", None), ("type", int), ("str", "x"),
        ("function", main), ("code", main.__code__), ("module", sys),
        ("__main__.Widget", Widget()), ("__main__.Inner", Widget.Inner()), ("type", Widget),
        ("collections.OrderedDict", collections.OrderedDict()),
        ("decimal.Decimal", decimal.Decimal(1)), ("ValueError", ValueError()),
        ("collections.Counter", collections.Counter()),
        ("threading._MainThread", threading.current_thread()),
    ]
    counted = object()
    references = [counted] * 1000
    sys.stdout = open(sys.argv[1], "w")
    print("version", sys.hexversion, int(not getattr(sys, "_is_gil_enabled", lambda: True)()))
    print("main", threading.get_ident())
    for name, value in objects:
        print("object", id(value), name)
    print("counted", id(references[0]))
    print("none", id(None))
    sys.stdout.flush()
    faulthandler.dump_traceback_later(0.5, file=sys.stdout)
    recurse(20, functools.partial(time.sleep, 60))  # marker: main


main()
