// A program that finds Python only at run time: it loads the shared library with dlopen
// and looks its functions up. Plug-in hosts do this. Nothing of Python is there when
// the program starts.
#include <cstdio>
#include <dlfcn.h>
#include <unistd.h>

template <typename Function> static Function find(void *library, const char *name)
{
    return reinterpret_cast<Function>(dlsym(library, name));
}

int main()
{
    alarm(30);
    std::setvbuf(stdout, nullptr, _IONBF, 0);
    std::printf("python before: %d\n", dlsym(RTLD_DEFAULT, "Py_InitializeEx") != nullptr);
    void *library = dlopen(PYTHON_LIBRARY, RTLD_NOW | RTLD_GLOBAL);
    if (library == nullptr) {
        std::printf("%s\n", dlerror());
        return 1;
    }
    find<void (*)(int)>(library, "Py_InitializeEx")(0);
    int failed = find<int (*)(const char *)>(library, "PyRun_SimpleString")(
        "import threading\n"
        "numbers = []\n"
        "threads = [threading.Thread(target=numbers.append, args=(n,)) for n in range(4)]\n"
        "[thread.start() for thread in threads]\n"
        "[thread.join() for thread in threads]\n"
        "print(sorted(numbers), flush=True)\n");
    failed |= find<int (*)()>(library, "Py_FinalizeEx")();
    std::printf("failed: %d\n", failed);
    return failed;
}
