// A C++ exception leaves a released region: the guard's destructor attaches during the
// unwind, and the binding turns the exception into a Python one. The tool's frames
// must let the exception pass. A rethrow on a native thread is covered as well.
#include <Python.h>
#include <exception>
#include <stdexcept>
#include <thread>

namespace {

class ReleasedRegion {
public:
    ReleasedRegion() : state(PyEval_SaveThread()) {}
    ~ReleasedRegion() { PyEval_RestoreThread(state); }

private:
    PyThreadState *state;
};

void compute(bool on_thread)
{
    if (!on_thread) {
        throw std::runtime_error("thrown without the GIL");
    }
    std::exception_ptr caught;
    std::thread worker([&caught] {
        try {
            throw std::runtime_error("thrown on a native thread");
        } catch (...) {
            caught = std::current_exception();
        }
    });
    worker.join();
    std::rethrow_exception(caught);
}

PyObject *run(PyObject *, PyObject *on_thread)
{
    const bool threaded = on_thread == Py_True;
    try {
        ReleasedRegion released;
        compute(threaded);
    } catch (const std::exception &error) {
        PyErr_SetString(PyExc_RuntimeError, error.what());
        return nullptr;
    }
    Py_RETURN_NONE;
}

PyMethodDef methods[] = {
    {"run", run, METH_O, "Throw from a released region."},
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
