/* A program that uses the extension well and kills itself: the trace must still be
 * readable, and nothing in it is a finding. */
#include <Python.h>

static PyObject *churn(PyObject *module, PyObject *unused)
{
    PyObject *list = PyList_New(0);
    PyObject *text = PyUnicode_FromString("text");
    Py_ssize_t size;
    if (list == NULL || text == NULL || PyList_Append(list, text) < 0) {
        return NULL;
    }
    size = PyList_Size(list);
    Py_DECREF(text);
    Py_BEGIN_ALLOW_THREADS
    Py_END_ALLOW_THREADS
    Py_DECREF(list);
    return PyLong_FromSsize_t(size);
}

static PyMethodDef methods[] = {
    {"churn", churn, METH_NOARGS, "Create and release some objects."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "extension", NULL, -1, methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit_extension(void)
{
    return PyModule_Create(&definition);
}
