/* A worker asks for the size of a list with no thread state. PyList_Size only reads,
 * so nothing crashes on any version; the answer may be stale, and a wrong argument
 * would raise without a thread state. Hence a warning, no error.
 * The twin reads the size before the thread starts. */
#include <Python.h>
#include <pthread.h>

static Py_ssize_t seen;

static void *measure(void *list)
{
    seen = PyList_Size((PyObject *)list);
    return NULL;
}

static PyObject *size(PyObject *module, PyObject *list)
{
    pthread_t thread;
    Py_BEGIN_ALLOW_THREADS
    pthread_create(&thread, NULL, measure, list);
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
