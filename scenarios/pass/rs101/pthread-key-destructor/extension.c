/* The cured twin: the thread empties its key while it is attached. */
#include <Python.h>
#include <pthread.h>

static pthread_key_t scratch_key;

static void destroy_scratch(void *scratch)
{
    Py_DECREF((PyObject *)scratch);
    pthread_setspecific(scratch_key, NULL);
}

static void *callback_thread(void *argument)
{
    PyGILState_STATE state = PyGILState_Ensure();
    PyObject *scratch = PyDict_New();
    pthread_setspecific(scratch_key, scratch);
    pthread_setspecific(scratch_key, NULL);
    Py_XDECREF(scratch);
    PyGILState_Release(state);
    return NULL;
}

static PyObject *run(PyObject *module, PyObject *unused)
{
    pthread_t thread;
    Py_BEGIN_ALLOW_THREADS
    pthread_create(&thread, NULL, callback_thread, NULL);
    pthread_join(thread, NULL);
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"run", run, METH_NOARGS, "Run a native thread to its end."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "extension", NULL, -1, methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit_extension(void)
{
    pthread_key_create(&scratch_key, destroy_scratch);
    return PyModule_Create(&definition);
}
