"""The cured twin: the loop attaches a thread state to look for Ctrl-C."""
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
            if (i % 1000 == 999) {
                PyGILState_STATE state = PyGILState_Ensure();
                int interrupted = PyErr_CheckSignals();
                PyGILState_Release(state);
                if (interrupted) {
                    return -1;
                }
            }
        }
        return found;
    }
    """,
    extra_compile_args=["-g", "-O2"],
)

if __name__ == "__main__":
    builder.compile()
