/* A driver's own thread appends its samples to a list with no thread state.
 * Up to 3.11 this seems to work, and corrupts the list when Python touches it at
 * the same moment; from 3.12 it crashes.
 * The twin attaches a thread state around the two calls. */
#include <Python.h>
#include <pthread.h>

static PyObject *sample;

static void *produce(void *samples)
{
    int failed = PyList_Append((PyObject *)samples, sample);
    return failed ? NULL : samples;
}

static PyObject *acquire(PyObject *module, PyObject *samples)
{
    pthread_t thread;
    void *result;
    Py_BEGIN_ALLOW_THREADS
    pthread_create(&thread, NULL, produce, samples);
    pthread_join(thread, &result);
    Py_END_ALLOW_THREADS
    return PyBool_FromLong(result != NULL);
}

static PyMethodDef methods[] = {
    {"acquire", acquire, METH_O, "Append one sample from a native thread."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "extension", NULL, -1, methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit_extension(void)
{
    sample = PyLong_FromLong(7);
    return PyModule_Create(&definition);
}
