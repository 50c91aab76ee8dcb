# A callback that needs the GIL is cast to a nogil function pointer, the usual way past
# the compiler's check, and called from a nogil region: it appends to a list
# with no thread state attached.
# The twin declares the callback `with gil`.
# cython: language_level=3

cdef extern from *:
    """
    typedef void (*callback_type)(int);
    static void run_engine(callback_type callback) { for (int i = 0; i < 3; i++) callback(i); }
    """
    ctypedef void (*callback_type)(int) noexcept nogil
    void run_engine(callback_type callback) nogil

cdef list steps = []

cdef void on_step(int step) noexcept:
    steps.append(step)

def run():
    """Run the engine, which records its steps."""
    with nogil:
        run_engine(<callback_type>on_step)
    return steps
