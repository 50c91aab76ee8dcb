/* The extension is built against the limited API of 3.12, where every release is a
 * call, not only the last one. A pthread releases a reference while the list is still
 * referenced elsewhere: nothing crashes on any version, but two threads change one
 * reference count without the GIL, and one day it is wrong.
 * The twin attaches a thread state around the release. */
#define Py_LIMITED_API 0x030c0000
#include <Python.h>
#include <pthread.h>

static PyObject *shared;

static void *forget(void *argument)
{
    Py_DECREF(shared);
    shared = NULL;
    return argument;
}

static PyObject *share(PyObject *module, PyObject *object)
{
    pthread_t thread;
    Py_INCREF(object);
    shared = object;
    Py_BEGIN_ALLOW_THREADS
    pthread_create(&thread, NULL, forget, NULL);
    pthread_join(thread, NULL);
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"share", share, METH_O, "Share an object with a native thread."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "extension", NULL, -1, methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit_extension(void)
{
    return PyModule_Create(&definition);
}
