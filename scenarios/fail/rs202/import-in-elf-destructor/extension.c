/* A library imports a Python module from its ELF destructor to close a resource.
 * The interpreter is gone; wheels with a lazily closed file system do this.
 * The twin asks Py_IsInitialized first and leaves the resource to the system. */
#include <Python.h>

static int opened;

__attribute__((destructor)) static void close_resource(void)
{
    PyObject *logging;
    if (!opened) {
        return;
    }
    logging = PyImport_ImportModule("logging");
    Py_XDECREF(logging);
    opened = 0;
}

static PyObject *open_resource(PyObject *module, PyObject *unused)
{
    opened = 1;
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"open", open_resource, METH_NOARGS, "Open the resource."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "extension", NULL, -1, methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit_extension(void)
{
    return PyModule_Create(&definition);
}
