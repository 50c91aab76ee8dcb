/* The cured twin: the last entry is written by a callback of Python's atexit; the exit
 * handler of the C library then finds it done. */
#include <Python.h>
#include <stdlib.h>

static PyObject *journal;

static void write_last_entry(void)
{
    static int written;
    if (journal != NULL && !written) {
        written = 1;
        if (PyList_Append(journal, Py_None) < 0) {
            abort();
        }
    }
}

static PyObject *use(PyObject *module, PyObject *list)
{
    Py_INCREF(list);
    journal = list;
    Py_RETURN_NONE;
}

static PyObject *close_journal(PyObject *module, PyObject *unused)
{
    write_last_entry();
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"use", use, METH_O, "Set the journal."},
    {"close", close_journal, METH_NOARGS, "Write the last entry."},
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
    atexit(write_last_entry);
    PyObject *module = PyModule_Create(&definition);
    if (module != NULL && register_at_exit(module, "close") < 0) {
        Py_CLEAR(module);
    }
    return module;
}
