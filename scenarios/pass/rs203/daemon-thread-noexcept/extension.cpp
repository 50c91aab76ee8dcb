// The cured twin is in drive.py: the daemon thread is stopped and joined by an atexit
// callback, before finalization begins.
#include <Python.h>
#include <unistd.h>

namespace {

class ReleasedRegion {
public:
    ReleasedRegion() : state(PyEval_SaveThread()) {}
    ~ReleasedRegion() { PyEval_RestoreThread(state); }

private:
    PyThreadState *state;
};

PyObject *wait_for_work(PyObject *, PyObject *)
{
    {
        ReleasedRegion released;
        usleep(2000);
    }
    Py_RETURN_NONE;
}

PyMethodDef methods[] = {
    {"wait", wait_for_work, METH_NOARGS, "Wait without the GIL."},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "extension", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr,
};

} // namespace

PyMODINIT_FUNC PyInit_extension(void)
{
    return PyModule_Create(&definition);
}
