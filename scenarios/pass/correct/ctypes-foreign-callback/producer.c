/* A library that calls back from a thread of its own. It knows nothing of Python:
 * ctypes attaches a thread state around each callback. Legal. */
#include <pthread.h>

typedef int (*callback_type)(int);

static callback_type callback;
static int total;

static void *produce(void *unused)
{
    int i;
    for (i = 1; i <= 100; i++) {
        total += callback(i);
    }
    return NULL;
}

int call_from_thread(callback_type function)
{
    pthread_t thread;
    callback = function;
    total = 0;
    pthread_create(&thread, NULL, produce, NULL);
    pthread_join(thread, NULL);
    return total;
}
