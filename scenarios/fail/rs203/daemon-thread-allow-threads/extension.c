/* A daemon Python thread waits in a released region when the interpreter ends. It
 * attaches again while the modules are torn down and never comes back: its cleanup
 * below Py_END_ALLOW_THREADS is skipped, locks stay held.
 * The twin ends the waiting and joins the thread before finalization. */
#include <Python.h>
#include <unistd.h>

static PyObject *wait_for_work(PyObject *module, PyObject *unused)
{
    Py_BEGIN_ALLOW_THREADS
    usleep(2000);
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"wait", wait_for_work, METH_NOARGS, "Wait without the GIL."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "extension", NULL, -1, methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit_extension(void)
{
    return PyModule_Create(&definition);
}
