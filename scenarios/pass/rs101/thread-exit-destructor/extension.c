/* The cured twin: the thread calls clear() before it ends, so the destructor finds
 * nothing to release. */
#include <Python.h>

extern int __cxa_thread_atexit_impl(void (*)(void *), void *, void *);
extern void *__dso_handle;

static __thread PyObject *cached;
static int destroyed;

static void destroy_cache(void *slot)
{
    Py_CLEAR(*(PyObject **)slot);
    __atomic_add_fetch(&destroyed, 1, __ATOMIC_SEQ_CST);
}

static PyObject *cache(PyObject *module, PyObject *object)
{
    if (cached == NULL) {
        __cxa_thread_atexit_impl(destroy_cache, &cached, &__dso_handle);
    }
    Py_INCREF(object);
    Py_XSETREF(cached, object);
    Py_RETURN_NONE;
}

static PyObject *clear(PyObject *module, PyObject *unused)
{
    Py_CLEAR(cached);
    Py_RETURN_NONE;
}

static PyObject *count(PyObject *module, PyObject *unused)
{
    return PyLong_FromLong(__atomic_load_n(&destroyed, __ATOMIC_SEQ_CST));
}

static PyMethodDef methods[] = {
    {"cache", cache, METH_O, "Keep an object for this thread."},
    {"clear", clear, METH_NOARGS, "Empty this thread's cache."},
    {"count", count, METH_NOARGS, "Number of caches destroyed by thread exits."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "extension", NULL, -1, methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit_extension(void)
{
    return PyModule_Create(&definition);
}
