/* The error path inside a released region raises: the exception is set on a thread
 * state that is not attached. Rarely taken error paths are where this survives.
 * The twin remembers the error and raises it after Py_END_ALLOW_THREADS. */
#include <Python.h>
#include <unistd.h>

static PyObject *flush(PyObject *module, PyObject *unused)
{
    int failed = 0;
    Py_BEGIN_ALLOW_THREADS
    if (fsync(-1) != 0) {
        PyErr_SetString(PyExc_OSError, "flush failed");
        failed = 1;
    }
    Py_END_ALLOW_THREADS
    if (failed) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"flush", flush, METH_NOARGS, "Flush, and fail."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "extension", NULL, -1, methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit_extension(void)
{
    return PyModule_Create(&definition);
}
