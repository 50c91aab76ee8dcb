/* The cured twin: stop() runs as a callback of Python's atexit, so the thread attaches
 * and ends before finalization begins. */
#include <Python.h>
#include <pthread.h>
#include <unistd.h>

static pthread_t logger;
static int running;
static volatile int stopping;

static void *flush_at_shutdown(void *unused)
{
    while (!stopping && Py_IsInitialized()) {
        usleep(1000);
    }
    PyGILState_STATE state = PyGILState_Ensure();
    PySys_WriteStdout("flushed\n");
    PyGILState_Release(state);
    return NULL;
}

static PyObject *start(PyObject *module, PyObject *unused)
{
    running = pthread_create(&logger, NULL, flush_at_shutdown, NULL) == 0;
    Py_RETURN_NONE;
}

static PyObject *stop(PyObject *module, PyObject *unused)
{
    stopping = 1;
    Py_BEGIN_ALLOW_THREADS
    if (running) {
        pthread_join(logger, NULL);
        running = 0;
    }
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"start", start, METH_NOARGS, "Start the logging thread."},
    {"stop", stop, METH_NOARGS, "Stop it."},
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
    PyObject *module = PyModule_Create(&definition);
    if (module != NULL && register_at_exit(module, "stop") < 0) {
        Py_CLEAR(module);
    }
    return module;
}
