"""Contexts and locations entered and never exited, on the release whose exit callback empties them."""
import sys

from circt.ir import Context, Location, Module

case = sys.argv[1]
Context().__enter__()
if case == "context":
    with Location.unknown():
        Module.parse("module {}")
elif case == "two":
    Context().__enter__()
elif case == "location":
    Location.unknown().__enter__()
print("entered", case)
