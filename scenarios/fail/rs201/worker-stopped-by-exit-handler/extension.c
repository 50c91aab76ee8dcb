/* A native worker owns its last job until somebody tells it to stop, and the exit
 * handler of the C library tells it: the job is freed on the worker's thread when
 * there is no interpreter any more.
 * The twin stops and joins the worker from a callback of Python's atexit. */
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
    Py_CLEAR(job);
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

PyMODINIT_FUNC PyInit_extension(void)
{
    atexit(stop_worker);
    return PyModule_Create(&definition);
}
