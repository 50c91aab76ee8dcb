"""Calls into a small pybind11 extension: numbers, text, lists, and a class."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from extension import Greeter, add, count, total
from work import measure


def calls():
    greeter = Greeter("good morning")
    for number in range(1000):
        add(number, 1)
        greeter.greet("world")
        greeter.length("world")
        total(count(16))


measure(calls, int(sys.argv[1]))
