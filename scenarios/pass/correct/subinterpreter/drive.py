import signal
import sys

import extension

signal.alarm(60)
if sys.version_info >= (3, 13):
    import _interpreters as interpreters
else:
    import _xxsubinterpreters as interpreters


def create():
    """A legacy subinterpreter: it shares the GIL and may load single-phase modules."""
    if sys.version_info >= (3, 13):
        return interpreters.create("legacy")
    if sys.version_info >= (3, 12):
        return interpreters.create(isolated=False)
    if sys.version_info >= (3, 9):
        return interpreters.create(isolated=False)
    return interpreters.create()


script = """
import extension
print("subinterpreter", extension.churn(), flush=True)
"""
print("main", extension.churn(), flush=True)
for _ in range(2):
    interpreter = create()
    interpreters.run_string(interpreter, script)
    interpreters.destroy(interpreter)
    print("main", extension.churn(), flush=True)
