// A C++ static owns a callback and attaches a thread state in its destructor, which
// runs in exit(), after Py_FinalizeEx: there is no interpreter to attach to.
// Attaching looks like the careful way to release, and is wrong here.
// The twin leaks the callback when the interpreter is gone.
#include <Python.h>

namespace {

struct Subscription {
    PyObject *callback = nullptr;

    ~Subscription()
    {
        if (callback == nullptr) {
            return;
        }
        PyGILState_STATE state = PyGILState_Ensure();
        Py_CLEAR(callback);
        PyGILState_Release(state);
    }
};

Subscription subscription;

PyObject *subscribe(PyObject *, PyObject *callback)
{
    Py_INCREF(callback);
    Py_XSETREF(subscription.callback, callback);
    Py_RETURN_NONE;
}

PyMethodDef methods[] = {
    {"subscribe", subscribe, METH_O, "Set the callback."},
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
