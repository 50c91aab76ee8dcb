/* The extension defines a function of its own that is named like a private function of
 * the interpreter, and calls it through its own PLT. RTLD_DEEPBIND (drive.py) makes
 * the name resolve to this definition although the interpreter exports one too. It
 * touches no object, so it may be called without a thread state: its name says
 * nothing about it. The tool must leave such a call alone, and must not divert it. */
#include <Python.h>

static int calls;

__attribute__((noinline)) int _PyBytes_Resize(PyObject **pointer, Py_ssize_t size)
{
    calls += pointer == NULL;
    return (int)size + 1;
}

static PyObject *resize(PyObject *module, PyObject *unused)
{
    int result;
    Py_BEGIN_ALLOW_THREADS
    result = _PyBytes_Resize(NULL, 41);
    Py_END_ALLOW_THREADS
    return Py_BuildValue("ii", result, calls);
}

static PyMethodDef methods[] = {
    {"resize", resize, METH_NOARGS, "Call the extension's own function."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "extension", NULL, -1, methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit_extension(void)
{
    return PyModule_Create(&definition);
}
