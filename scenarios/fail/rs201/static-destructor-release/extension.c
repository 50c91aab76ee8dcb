/* A static registry owns an object and frees it from a handler that the C++ runtime
 * would register for a static variable: after Py_FinalizeEx, in exit().
 * The twin clears the registry from a callback of Python's own atexit module. */
#include <Python.h>

extern int __cxa_atexit(void (*)(void *), void *, void *);
extern void *__dso_handle;

static PyObject *registered;

static void destroy_registry(void *slot)
{
    PyObject **owner = slot;
    Py_XDECREF(*owner);
    *owner = NULL;
}

static PyObject *enroll(PyObject *module, PyObject *object)
{
    Py_INCREF(object);
    Py_XSETREF(registered, object);
    Py_RETURN_NONE;
}

static PyObject *clear(PyObject *module, PyObject *unused)
{
    Py_CLEAR(registered);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"enroll", enroll, METH_O, "Keep an object for the whole run."},
    {"clear", clear, METH_NOARGS, "Forget it."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "extension", NULL, -1, methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit_extension(void)
{
    __cxa_atexit(destroy_registry, &registered, &__dso_handle);
    return PyModule_Create(&definition);
}
