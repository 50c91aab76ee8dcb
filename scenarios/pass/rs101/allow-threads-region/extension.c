/* The cured twin: the release comes after Py_END_ALLOW_THREADS. */
#include <Python.h>
#include <unistd.h>

static PyObject *compute(PyObject *module, PyObject *unused)
{
    PyObject *scratch = PyList_New(0);
    if (scratch == NULL) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    usleep(1000);
    Py_END_ALLOW_THREADS
    Py_DECREF(scratch);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"compute", compute, METH_NOARGS, "Work without the GIL."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "extension", NULL, -1, methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit_extension(void)
{
    return PyModule_Create(&definition);
}
