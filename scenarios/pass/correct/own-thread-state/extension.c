/* A native thread makes a thread state of its own for the interpreter, attaches it with
 * PyEval_AcquireThread, works, detaches in between, and deletes it. Servers that embed
 * Python do this instead of PyGILState_Ensure. Legal. */
#include <Python.h>
#include <pthread.h>

struct task {
    PyInterpreterState *interpreter;
    PyObject *list;
};

static void *serve(void *argument)
{
    struct task *task = argument;
    PyThreadState *state = PyThreadState_New(task->interpreter);
    int i;
    for (i = 0; i < 100; i++) {
        PyObject *text;
        PyEval_AcquireThread(state);
        text = PyUnicode_FromFormat("request %d", i);
        if (text != NULL) {
            PyList_Append(task->list, text);
            Py_DECREF(text);
        }
        PyEval_ReleaseThread(state);
    }
    PyEval_AcquireThread(state);
    PyThreadState_Clear(state);
    PyThreadState_DeleteCurrent();
    return NULL;
}

static PyObject *run(PyObject *module, PyObject *list)
{
    struct task task = {PyThreadState_Get()->interp, list};
    pthread_t thread;
    Py_BEGIN_ALLOW_THREADS
    pthread_create(&thread, NULL, serve, &task);
    pthread_join(thread, NULL);
    Py_END_ALLOW_THREADS
    return PyLong_FromSsize_t(PyList_Size(list));
}

static PyMethodDef methods[] = {
    {"run", run, METH_O, "Serve requests on a native thread."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "extension", NULL, -1, methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit_extension(void)
{
    return PyModule_Create(&definition);
}
