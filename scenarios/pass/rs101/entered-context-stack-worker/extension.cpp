// The cured twin: clear() empties the main thread's stack from a callback of Python's
// atexit, while the interpreter lives. That mends no other thread: a worker calls
// clear() before it ends (drive.py).
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

/* Register a function of this module with Python's atexit, which runs it while the
 * interpreter is alive. */
int register_at_exit(PyObject *module, const char *name)
{
    PyObject *atexit = PyImport_ImportModule("atexit");
    PyObject *function = PyObject_GetAttrString(module, name);
    PyObject *result = nullptr;
    if (atexit != nullptr && function != nullptr) {
        result = PyObject_CallMethod(atexit, "register", "O", function);
    }
    Py_XDECREF(atexit);
    Py_XDECREF(function);
    Py_XDECREF(result);
    return result == nullptr ? -1 : 0;
}

} // namespace

PyMODINIT_FUNC PyInit_extension(void)
{
    PyObject *module = PyModule_Create(&definition);
    if (module != nullptr && register_at_exit(module, "clear") < 0) {
        Py_CLEAR(module);
    }
    return module;
}
