// A C++ wrapper attaches in its destructor, whoever runs it. Here the main thread does,
// during module teardown, with its thread state attached: PyGILState_Ensure then only
// counts. Legal, although Py_IsInitialized is 0 and finalization is under way.
#include <Python.h>
#include <cstdio>

namespace {

struct Handle {
    PyObject *object;

    explicit Handle(PyObject *owned) : object(owned) { Py_INCREF(object); }

    ~Handle()
    {
        PyGILState_STATE state = PyGILState_Ensure();
        std::printf("handle destroyed, attached before: %d\n", state == PyGILState_LOCKED);
        Py_DECREF(object);
        PyGILState_Release(state);
        std::fflush(stdout);
    }
};

void destroy_handle(PyObject *capsule)
{
    delete static_cast<Handle *>(PyCapsule_GetPointer(capsule, nullptr));
}

PyObject *handle(PyObject *, PyObject *object)
{
    return PyCapsule_New(new Handle(object), nullptr, destroy_handle);
}

PyMethodDef methods[] = {
    {"handle", handle, METH_O, "A handle that owns an object."},
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
