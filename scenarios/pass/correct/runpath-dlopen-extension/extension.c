/* An extension module that loads a library by its bare name, found through the RUNPATH
 * of this very file. Whoever calls dlopen in its stead changes whose RUNPATH is read.
 * It reports where the library was loaded from, relative to itself. */
#include <Python.h>
#include <dlfcn.h>

static const char *load_plugin(void)
{
    static char answer[8192];
    Dl_info self, other;
    char here[4096], there[4096];
    void *handle = dlopen("libplugin.so", RTLD_NOW | RTLD_LOCAL);
    void *symbol = handle == NULL ? NULL : dlsym(handle, "plugin_version");
    if (symbol == NULL) {
        snprintf(answer, sizeof answer, "not found: %s", dlerror());
        return answer;
    }
    dladdr((void *)load_plugin, &self);
    dladdr(symbol, &other);
    if (realpath(self.dli_fname, here) == NULL || realpath(other.dli_fname, there) == NULL) {
        return "no such file";
    }
    *strrchr(here, '/') = '\0';
    snprintf(answer, sizeof answer, "version %d from %s", ((int (*)(void))symbol)(),
             strncmp(here, there, strlen(here)) == 0 ? there + strlen(here) : there);
    return answer;
}

static PyObject *load(PyObject *module, PyObject *unused)
{
    return PyUnicode_FromString(load_plugin());
}

static PyMethodDef methods[] = {
    {"load", load, METH_NOARGS, "Load the plugin, and say from where."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "extension", NULL, -1, methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit_extension(void)
{
    return PyModule_Create(&definition);
}
