"""cffi releases the GIL around every call into C. The library looks for Ctrl-C in its
long loop, as it would in an extension of its own, and calls PyErr_CheckSignals with
no thread state attached.
The twin attaches around that call."""
from cffi import FFI

builder = FFI()
builder.cdef("int search(int steps);")
builder.set_source(
    "extension",
    r"""
    #include <Python.h>

    static int search(int steps)
    {
        int i, found = 0;
        for (i = 0; i < steps; i++) {
            found += i % 7 == 0;
            if (i % 1000 == 999 && PyErr_CheckSignals() != 0) {
                return -1;
            }
        }
        return found;
    }
    """,
    extra_compile_args=["-g", "-O2"],
)

if __name__ == "__main__":
    builder.compile()
