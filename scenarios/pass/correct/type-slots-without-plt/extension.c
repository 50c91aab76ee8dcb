/* Addresses of interpreter functions are stored in type slots at run time, read from
 * GLOB_DAT slots (every call here is made as by -fno-plt, too). CPython compares such
 * addresses: with a replaced PyObject_HashNotImplemented the instances would look
 * hashable, with a replaced PyObject_GenericGetAttr the attribute cache is lost. */
#include <Python.h>

extern __attribute__((noplt)) Py_hash_t PyObject_HashNotImplemented(PyObject *);
extern __attribute__((noplt)) void PyObject_GC_Del(void *);
extern __attribute__((noplt)) PyObject *PyType_GenericNew(PyTypeObject *, PyObject *, PyObject *);
extern __attribute__((noplt)) PyObject *PyObject_GenericGetAttr(PyObject *, PyObject *);
extern __attribute__((noplt)) int PyType_Ready(PyTypeObject *);
extern __attribute__((noplt)) PyObject *PyList_New(Py_ssize_t);
extern __attribute__((noplt)) void PyObject_GC_UnTrack(void *);

typedef struct {
    PyObject_HEAD
    PyObject *items;
} Bag;

static int traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(((Bag *)self)->items);
    return 0;
}

static int clear(PyObject *self)
{
    Py_CLEAR(((Bag *)self)->items);
    return 0;
}

static int initialize(PyObject *self, PyObject *args, PyObject *keywords)
{
    Py_XSETREF(((Bag *)self)->items, PyList_New(0));
    return ((Bag *)self)->items == NULL ? -1 : 0;
}

static void destroy(PyObject *self)
{
    PyObject_GC_UnTrack(self);
    clear(self);
    Py_TYPE(self)->tp_free(self);
}

static PyTypeObject bag_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "extension.Bag",
    .tp_basicsize = sizeof(Bag),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .tp_traverse = traverse,
    .tp_clear = clear,
    .tp_init = initialize,
    .tp_dealloc = destroy,
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "extension", NULL, -1, NULL, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit_extension(void)
{
    PyObject *module = PyModule_Create(&definition);
    bag_type.tp_free = PyObject_GC_Del;
    bag_type.tp_hash = PyObject_HashNotImplemented;
    bag_type.tp_new = PyType_GenericNew;
    bag_type.tp_getattro = PyObject_GenericGetAttr;
    if (module == NULL || PyType_Ready(&bag_type) < 0) {
        return NULL;
    }
    Py_INCREF(&bag_type);
    PyModule_AddObject(module, "Bag", (PyObject *)&bag_type);
    return module;
}
