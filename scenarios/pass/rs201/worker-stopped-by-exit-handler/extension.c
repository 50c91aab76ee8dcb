/* The cured twin: stop() runs as a callback of Python's atexit, while the worker can
 * still attach, and the worker attaches for its last release. */
#include <Python.h>
#include <pthread.h>
#include <stdlib.h>

static pthread_t worker;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;
static int running, stopping;
static PyObject *job;

static void *work(void *unused)
{
    pthread_mutex_lock(&mutex);
    while (!stopping) {
        pthread_cond_wait(&wake, &mutex);
    }
    pthread_mutex_unlock(&mutex);
    PyGILState_STATE state = PyGILState_Ensure();
    Py_CLEAR(job);
    PyGILState_Release(state);
    return NULL;
}

static void stop_worker(void)
{
    if (!running) {
        return;
    }
    pthread_mutex_lock(&mutex);
    stopping = 1;
    pthread_cond_signal(&wake);
    pthread_mutex_unlock(&mutex);
    pthread_join(worker, NULL);
    running = 0;
}

static PyObject *start(PyObject *module, PyObject *object)
{
    Py_INCREF(object);
    job = object;
    running = pthread_create(&worker, NULL, work, NULL) == 0;
    Py_RETURN_NONE;
}

static PyObject *stop(PyObject *module, PyObject *unused)
{
    Py_BEGIN_ALLOW_THREADS
    stop_worker();
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"start", start, METH_O, "Start the worker with a job."},
    {"stop", stop, METH_NOARGS, "Stop the worker."},
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
    atexit(stop_worker);
    PyObject *module = PyModule_Create(&definition);
    if (module != NULL && register_at_exit(module, "stop") < 0) {
        Py_CLEAR(module);
    }
    return module;
}
