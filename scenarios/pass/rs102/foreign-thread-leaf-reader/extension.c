/* The cured twin: the size is read while attached and handed to the thread. */
#include <Python.h>
#include <pthread.h>

static Py_ssize_t seen;

static void *measure(void *length)
{
    seen = *(Py_ssize_t *)length;
    return NULL;
}

static PyObject *size(PyObject *module, PyObject *list)
{
    pthread_t thread;
    Py_ssize_t length = PyList_Size(list);
    Py_BEGIN_ALLOW_THREADS
    pthread_create(&thread, NULL, measure, &length);
    pthread_join(thread, NULL);
    Py_END_ALLOW_THREADS
    return PyLong_FromSsize_t(seen);
}

static PyMethodDef methods[] = {
    {"size", size, METH_O, "Measure a list on a native thread."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "extension", NULL, -1, methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit_extension(void)
{
    return PyModule_Create(&definition);
}
