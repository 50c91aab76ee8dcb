/* A logging thread flushes what is left when it sees the interpreter go down, and
 * attaches for that while the modules are being torn down. Up to 3.13.7 CPython ends
 * the thread inside PyGILState_Ensure, later versions hang it or let it in.
 * The twin stops and joins the thread from a callback of Python's atexit. */
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

PyMODINIT_FUNC PyInit_extension(void)
{
    return PyModule_Create(&definition);
}
