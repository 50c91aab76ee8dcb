// A program that finds Python at run time makes a thread state on one thread and runs
// Python with it on another: the functions that hand it over are called through pointers,
// so no table shows them. Application servers do this. Nothing is wrong with it.
#include <cstdio>
#include <dlfcn.h>
#include <thread>
#include <unistd.h>

static void *library;

template <typename Function> static Function find(const char *name)
{
    return reinterpret_cast<Function>(dlsym(library, name));
}

static void work(void *state)
{
    find<void (*)(void *)>("PyEval_RestoreThread")(state);
    int failed = find<int (*)(const char *)>("PyRun_SimpleString")(
        "import ctypes\n"
        "libc = ctypes.CDLL(None)\n"
        "print(sum(libc.abs(-n) for n in range(50)), flush=True)\n");
    find<void *(*)()>("PyEval_SaveThread")();
    if (failed)
        std::printf("failed\n");
}

int main()
{
    alarm(30);
    std::setvbuf(stdout, nullptr, _IONBF, 0);
    library = dlopen(PYTHON_LIBRARY, RTLD_NOW | RTLD_GLOBAL);
    if (library == nullptr) {
        std::printf("%s\n", dlerror());
        return 1;
    }
    find<void (*)(int)>("Py_InitializeEx")(0);
    void *interpreter = find<void *(*)()>("PyInterpreterState_Main")();
    void *handed_over = find<void *(*)(void *)>("PyThreadState_New")(interpreter);
    void *own = find<void *(*)()>("PyEval_SaveThread")();
    for (int i = 0; i < 2; i++)
        std::thread(work, handed_over).join();
    find<void (*)(void *)>("PyEval_RestoreThread")(own);
    int failed = find<int (*)()>("Py_FinalizeEx")();
    std::printf("end: %d\n", failed);
    return failed;
}
