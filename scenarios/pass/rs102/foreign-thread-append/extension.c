/* The cured twin: the thread attaches before it appends. */
#include <Python.h>
#include <pthread.h>

static PyObject *sample;

static void *produce(void *samples)
{
    PyGILState_STATE state = PyGILState_Ensure();
    int failed = PyList_Append((PyObject *)samples, sample);
    PyGILState_Release(state);
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
