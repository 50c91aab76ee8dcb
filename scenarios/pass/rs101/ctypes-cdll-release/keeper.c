/* The cured twin: drive.py calls both functions through ctypes.PyDLL, which keeps the
 * thread state attached. */
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
