# A callback that needs the GIL is cast to a nogil function pointer, the usual way past
# the compiler's check, and called from a nogil region: the assignment drops the last
# reference to the old value with no thread state attached.
# The twin declares the callback `with gil`.
# cython: language_level=3

cdef extern from *:
    """
    typedef void (*callback_type)(int);
    static void run_engine(callback_type callback) { for (int i = 0; i < 3; i++) callback(i); }
    """
    ctypedef void (*callback_type)(int) noexcept nogil
    void run_engine(callback_type callback) nogil

cdef object latest = None
cdef int steps = 0

cdef void on_step(int step) noexcept:
    global latest, steps
    latest = None
    steps += 1

def keep(value):
    """Keep a value for the engine."""
    global latest
    latest = value

def run():
    """Run the engine, which forgets the value."""
    with nogil:
        run_engine(<callback_type>on_step)
    return steps
