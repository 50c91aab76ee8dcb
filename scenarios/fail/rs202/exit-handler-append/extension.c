/* A library appends "closed" to a Python list from an exit handler of the C library,
 * that is, after Py_FinalizeEx.
 * The twin registers the same function with Python's atexit module. */
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

PyMODINIT_FUNC PyInit_extension(void)
{
    atexit(write_last_entry);
    return PyModule_Create(&definition);
}
