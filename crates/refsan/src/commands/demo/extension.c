/* A Python extension with two faults, for `refsan demo`. Compiled with -DCURED it has neither.
 *
 * It is written without Python's headers, so that a C compiler is all that it needs: what it uses
 * of the stable ABI is declared here. */
#include <pthread.h>
#include <stddef.h>
#include <sys/resource.h>
#include <unistd.h>

/* ---- The stable ABI ------------------------------------------------------------------------- */

typedef struct { ptrdiff_t references; void *type; } PyObject;
typedef struct {
    const char *name;
    PyObject *(*function)(PyObject *, PyObject *);
    int flags;
    const char *documentation;
} PyMethodDef;
typedef struct {
    PyObject head;
    PyObject *(*init)(void);
    ptrdiff_t index;
    PyObject *copy;
    const char *name, *documentation;
    ptrdiff_t size;
    PyMethodDef *methods;
    void *slots, *traverse, *clear, *free;
} PyModuleDef;
enum { METH_NOARGS = 4, METH_O = 8, ABI_VERSION = 3 };

PyObject *PyModule_Create2(PyModuleDef *, int);
PyObject *PyImport_ImportModule(const char *);
PyObject *PyObject_GetAttrString(PyObject *, const char *);
PyObject *PyObject_CallMethod(PyObject *, const char *, const char *, ...);
PyObject *PyBool_FromLong(long);
void Py_IncRef(PyObject *);
void Py_DecRef(PyObject *);
int Py_IsInitialized(void);
int PyGILState_Ensure(void);
void PyGILState_Release(int);

/* ---- Fault 1: a stack of entered contexts, one for each thread ------------------------------ */

static __thread PyObject *entered[64];
static __thread int depth;

static void leave_all(void *unused)
{
    while (depth > 0)
        Py_DecRef(entered[--depth]);
}

/* What a C++ `thread_local` variable with a destructor compiles to: on the main thread it is
 * destroyed by exit(), when the interpreter is gone. */
int __cxa_thread_atexit_impl(void (*)(void *), void *, void *);
extern char __dso_handle __attribute__((visibility("hidden")));

static PyObject *enter(PyObject *module, PyObject *context)
{
    if (depth == 0)
        __cxa_thread_atexit_impl(leave_all, NULL, &__dso_handle);
    if (depth < 64) {
        Py_IncRef(context);
        entered[depth++] = context;
    }
    return PyBool_FromLong(1);
}

/* The cure: Python calls this at exit, while it is still alive. */
static PyObject *at_exit(PyObject *module, PyObject *unused)
{
    leave_all(NULL);
    return PyBool_FromLong(1);
}

static void cure_stack(PyObject *module)
{
#ifdef CURED
    PyObject *function = PyObject_GetAttrString(module, "_at_exit");
    PyObject *atexit = PyImport_ImportModule("atexit");
    if (function && atexit)
        PyObject_CallMethod(atexit, "register", "O", function);
#endif
}

/* ---- Fault 2: an engine that keeps its input for a while ------------------------------------ */

static void release_input(PyObject *input)
{
#ifdef CURED
    /* The cure: attach a thread state, and leave the input alone when Python is gone. (An engine
     * that has much to release also waits for its queue in an atexit callback.) */
    if (!Py_IsInitialized())
        return;
    int state = PyGILState_Ensure();
    Py_DecRef(input);
    PyGILState_Release(state);
#else
    Py_DecRef(input);
#endif
}

static void *engine_queue(void *input)
{
    sleep(1);
    release_input(input);
    return NULL;
}

static PyObject *predict(PyObject *module, PyObject *input)
{
    pthread_t thread;
    Py_IncRef(input);
    if (pthread_create(&thread, NULL, engine_queue, input) != 0)
        Py_DecRef(input);
    else
        pthread_detach(thread);
    return PyBool_FromLong(1);
}

/* ---- The module ----------------------------------------------------------------------------- */

static PyMethodDef methods[] = {
    {"enter", enter, METH_O, "Pushes a context on the thread's stack."},
    {"predict", predict, METH_O, "Hands an input to the engine."},
    {"_at_exit", at_exit, METH_NOARGS, "Empties the stack of contexts."},
    {0},
};
static PyModuleDef definition = {
    .head = {1, NULL}, .name = "refsan_demo", .size = -1, .methods = methods,
};

__attribute__((visibility("default"))) PyObject *PyInit_refsan_demo(void)
{
    PyObject *module = PyModule_Create2(&definition, ABI_VERSION);
    alarm(30); /* should anything hang */
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0}); /* the crash is no news */
    if (module)
        cure_stack(module);
    return module;
}
