/* The cured twin: the exception is raised once the thread is attached again. */
#include <Python.h>
#include <unistd.h>

static PyObject *flush(PyObject *module, PyObject *unused)
{
    int failed = 0;
    Py_BEGIN_ALLOW_THREADS
    if (fsync(-1) != 0) {
        failed = 1;
    }
    Py_END_ALLOW_THREADS
    if (failed) {
        PyErr_SetString(PyExc_OSError, "flush failed");
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
