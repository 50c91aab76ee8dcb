/* A thread state is handed from thread A to thread B and back: A detaches it, B
 * attaches the same one and works with it, then A goes on. Fibre schedulers and
 * language bridges do this. Legal as long as one thread at a time has it attached. */
#include <Python.h>
#include <pthread.h>

struct loan {
    PyThreadState *state;
    PyObject *list;
};

static void *borrow(void *argument)
{
    struct loan *loan = argument;
    PyObject *text;
    PyEval_RestoreThread(loan->state);
    text = PyUnicode_FromString("written by the borrower");
    if (text != NULL) {
        PyList_Append(loan->list, text);
        Py_DECREF(text);
    }
    loan->state = PyEval_SaveThread();
    return NULL;
}

static PyObject *lend(PyObject *module, PyObject *list)
{
    pthread_t thread;
    struct loan loan = {PyEval_SaveThread(), list};
    pthread_create(&thread, NULL, borrow, &loan);
    pthread_join(thread, NULL);
    PyEval_RestoreThread(loan.state);
    return PyLong_FromSsize_t(PyList_Size(list));
}

static PyMethodDef methods[] = {
    {"lend", lend, METH_O, "Lend the thread state to a native thread."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "extension", NULL, -1, methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit_extension(void)
{
    return PyModule_Create(&definition);
}
