// The cured twin: the program lets go of the object before it ends the interpreter.
#include <Python.h>
#include <cstdio>
#include <unistd.h>

namespace {

struct Script {
    PyObject *state = nullptr;

    void reset()
    {
        Py_XDECREF(state);
        state = nullptr;
    }

    ~Script() { reset(); }
};

Script script;

} // namespace

int main()
{
    alarm(30);
    Py_InitializeEx(0);
    script.state = PyList_New(0);
    std::printf("script state: %zd items\n", PyList_Size(script.state));
    std::fflush(stdout);
    script.reset();
    return Py_FinalizeEx() == 0 ? 0 : 1;
}
