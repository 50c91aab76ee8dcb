// As daemon-thread-allow-threads, with the attach in a destructor, which is noexcept.
// Up to 3.13.7 CPython ends the thread with pthread_exit, the forced unwind meets the
// noexcept frame, and the whole process dies: "terminate called without an active
// exception". Every binding generator's gil_scoped_release is such a destructor.
// The twin stops and joins the thread before finalization.
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
