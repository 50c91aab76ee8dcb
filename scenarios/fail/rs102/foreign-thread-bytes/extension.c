/* A reader thread turns each packet into a bytes object with no thread state, and
 * only the consumer takes the GIL. Receive loops of network bindings do this.
 * The twin attaches a thread state around the allocation. */
#include <Python.h>
#include <pthread.h>

static int packets;

static void *receive(void *packet)
{
    PyObject *bytes = PyBytes_FromStringAndSize(packet, 4096);
    packets += bytes != NULL;
    return bytes;
}

static PyObject *poll(PyObject *module, PyObject *unused)
{
    static char packet[4096];
    pthread_t thread;
    void *bytes = NULL;
    Py_BEGIN_ALLOW_THREADS
    pthread_create(&thread, NULL, receive, packet);
    pthread_join(thread, &bytes);
    Py_END_ALLOW_THREADS
    return bytes;
}

static PyMethodDef methods[] = {
    {"poll", poll, METH_NOARGS, "Receive one packet."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "extension", NULL, -1, methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit_extension(void)
{
    return PyModule_Create(&definition);
}
