// A C++ program that embeds Python, starts and ends the interpreter twice, and calls
// the C-API directly from the executable. It attaches from its own std::thread too.
// Everything is done with a thread state attached, or before and after in functions
// that need none.
#include <Python.h>
#include <cstdio>
#include <thread>
#include <unistd.h>

static int run_once(int round)
{
    Py_InitializeEx(0);
    PyObject *list = PyList_New(0);
    PyObject *number = PyLong_FromLong(1000000 + round);
    if (list == nullptr || number == nullptr || PyList_Append(list, number) < 0) {
        return 1;
    }
    Py_DECREF(number);

    PyThreadState *saved = PyEval_SaveThread();
    std::thread worker([list] {
        PyGILState_STATE state = PyGILState_Ensure();
        PyObject *text = PyUnicode_FromString("from a thread");
        PyList_Append(list, text);
        Py_DECREF(text);
        PyGILState_Release(state);
    });
    worker.join();
    PyEval_RestoreThread(saved);

    std::printf("round %d: %zd items\n", round, PyList_Size(list));
    Py_DECREF(list);
    if (PyRun_SimpleString("print('hello from Python', flush=True)") != 0) {
        return 1;
    }
    return Py_FinalizeEx();
}

int main()
{
    alarm(30);
    std::setvbuf(stdout, nullptr, _IONBF, 0);
    std::printf("initialized: %d\n", Py_IsInitialized());
    for (int round = 1; round <= 2; round++) {
        if (run_once(round) != 0) {
            return 1;
        }
        std::printf("initialized: %d\n", Py_IsInitialized());
    }
    return 0;
}
