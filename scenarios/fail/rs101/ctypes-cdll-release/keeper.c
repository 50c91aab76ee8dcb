/* A C library that uses Python's objects and is called through ctypes.CDLL, which
 * releases the GIL around each call: drop() releases an object with no thread state.
 * The twin calls it through ctypes.PyDLL, which keeps the thread attached. */
#include <Python.h>

static PyObject *kept;

void keep(PyObject *object)
{
    Py_INCREF(object);
    Py_XSETREF(kept, object);
}

int drop(void)
{
    int had = kept != NULL;
    Py_CLEAR(kept);
    return had;
}
