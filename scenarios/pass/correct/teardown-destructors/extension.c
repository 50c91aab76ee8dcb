/* A capsule destructor and the module's m_free release objects and call the C-API
 * while the modules are torn down. Py_IsInitialized is 0 there, yet the thread state
 * is attached: legal on every version. */
#include <Python.h>
#include <stdio.h>

static PyObject *kept;

static void destroy_capsule(PyObject *capsule)
{
    PyObject *list = PyCapsule_GetContext(capsule);
    printf("capsule destroyed, %zd item\n", PyList_Size(list));
    Py_DECREF(list);
    fflush(stdout);
}

static void free_module(void *module)
{
    printf("module freed, object kept: %d\n", kept != NULL);
    Py_CLEAR(kept);
    fflush(stdout);
}

static PyObject *keep(PyObject *module, PyObject *object)
{
    Py_INCREF(object);
    Py_XSETREF(kept, object);
    Py_RETURN_NONE;
}

static PyObject *capsule(PyObject *module, PyObject *list)
{
    PyObject *result = PyCapsule_New(&kept, NULL, destroy_capsule);
    if (result != NULL) {
        Py_INCREF(list);
        PyCapsule_SetContext(result, list);
    }
    return result;
}

static PyMethodDef methods[] = {
    {"keep", keep, METH_O, "Keep an object until the module is freed."},
    {"capsule", capsule, METH_O, "A capsule that owns a list."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "extension", NULL, 0, methods, slots, NULL, NULL, free_module,
};

PyMODINIT_FUNC PyInit_extension(void)
{
    return PyModuleDef_Init(&definition);
}
