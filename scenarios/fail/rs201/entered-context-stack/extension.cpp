// MLIR's Python bindings in small: entering a context pushes an owning entry on a
// C++ thread_local stack, leaving pops it. A stack that is not empty when its thread
// ends is destroyed by __call_tls_dtors: on the main thread after Py_FinalizeEx, on a
// worker with no thread state attached.
// The twin empties the stack earlier: from Python's atexit, and where a worker leaves.
#include <Python.h>
#include <utility>
#include <vector>

namespace {

struct ThreadContextEntry {
    PyObject *context;

    explicit ThreadContextEntry(PyObject *entered) : context(entered) { Py_INCREF(context); }
    ThreadContextEntry(ThreadContextEntry &&other) noexcept
        : context(std::exchange(other.context, nullptr))
    {
    }
    ThreadContextEntry &operator=(ThreadContextEntry &&) = delete;
    ~ThreadContextEntry() { Py_XDECREF(context); }
};

std::vector<ThreadContextEntry> &entered_contexts()
{
    static thread_local std::vector<ThreadContextEntry> stack;
    return stack;
}

PyObject *push(PyObject *, PyObject *context)
{
    entered_contexts().emplace_back(context);
    Py_RETURN_NONE;
}

PyObject *pop(PyObject *, PyObject *)
{
    if (entered_contexts().empty()) {
        PyErr_SetString(PyExc_RuntimeError, "no context is entered");
        return nullptr;
    }
    entered_contexts().pop_back();
    Py_RETURN_NONE;
}

PyObject *clear(PyObject *, PyObject *)
{
    entered_contexts().clear();
    Py_RETURN_NONE;
}

PyMethodDef methods[] = {
    {"push", push, METH_O, "Enter a context."},
    {"pop", pop, METH_NOARGS, "Leave the innermost context."},
    {"clear", clear, METH_NOARGS, "Leave all contexts of this thread."},
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
