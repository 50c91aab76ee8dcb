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

cdef list steps = []

cdef void on_step(int step) noexcept with gil:
    steps.append(step)

def run():
    """Run the engine, which records its steps."""
    with nogil:
        run_engine(on_step)
    return steps
