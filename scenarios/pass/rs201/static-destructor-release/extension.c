/* The cured twin: clear() runs as a callback of Python's atexit, so the static
 * destructor finds nothing to release. */
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

/* Register a function of this module with Python's atexit, which runs it while the
 * interpreter is alive. */
static int register_at_exit(PyObject *module, const char *name)
{
    PyObject *atexit = PyImport_ImportModule("atexit");
    PyObject *function = PyObject_GetAttrString(module, name);
    PyObject *result = NULL;
    if (atexit != NULL && function != NULL) {
        result = PyObject_CallMethod(atexit, "register", "O", function);
    }
    Py_XDECREF(atexit);
    Py_XDECREF(function);
    Py_XDECREF(result);
    return result == NULL ? -1 : 0;
}

PyMODINIT_FUNC PyInit_extension(void)
{
    __cxa_atexit(destroy_registry, &registered, &__dso_handle);
    PyObject *module = PyModule_Create(&definition);
    if (module != NULL && register_at_exit(module, "clear") < 0) {
        Py_CLEAR(module);
    }
    return module;
}
