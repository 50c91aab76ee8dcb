/* A pthread drops the last reference to an object without a thread state, while
 * the thread that started it has released the GIL and nobody else holds it.
 * Message queues and asynchronous writers do this: the consumer frees what the
 * producer handed over.
 * The twin attaches a thread state around the release. */
#include <Python.h>
#include <pthread.h>

static PyObject *message;

static void *consume(void *argument)
{
    Py_CLEAR(message);
    return NULL;
}

static PyObject *post(PyObject *module, PyObject *object)
{
    Py_INCREF(object);
    message = object;
    Py_RETURN_NONE;
}

static PyObject *drain(PyObject *module, PyObject *unused)
{
    pthread_t thread;
    Py_BEGIN_ALLOW_THREADS
    pthread_create(&thread, NULL, consume, NULL);
    pthread_join(thread, NULL);
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"post", post, METH_O, "Hand an object to the queue."},
    {"drain", drain, METH_NOARGS, "Let a native thread consume the queue."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "extension", NULL, -1, methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit_extension(void)
{
    return PyModule_Create(&definition);
}
