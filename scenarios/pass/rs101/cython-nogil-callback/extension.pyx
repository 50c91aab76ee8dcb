# The cured twin: the callback is declared `with gil`, so that no cast is needed and it
# attaches a thread state by itself.
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

cdef void on_step(int step) noexcept with gil:
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
        run_engine(on_step)
    return steps
