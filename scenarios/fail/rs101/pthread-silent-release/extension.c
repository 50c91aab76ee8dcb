/* As pthread-last-reference, but the thread that waits keeps the GIL.
 * Up to 3.11 the release borrows the waiter's thread state and nothing shows:
 * the object's destructor simply runs on the wrong thread. From 3.12 it crashes.
 * The twin releases the GIL around the wait and attaches around the release. */
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
    pthread_create(&thread, NULL, consume, NULL);
    pthread_join(thread, NULL);
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
