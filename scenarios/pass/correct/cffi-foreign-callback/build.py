"""A library that calls back from a thread of its own, through cffi's extern "Python".
cffi attaches a thread state around each callback. Legal."""
from cffi import FFI

builder = FFI()
builder.cdef("""
    extern "Python" int on_sample(int);
    int call_from_thread(int samples);
""")
builder.set_source(
    "extension",
    r"""
    #include <pthread.h>

    static int on_sample(int);

    static int total;

    static void *produce(void *samples)
    {
        int i;
        for (i = 1; i <= *(int *)samples; i++) {
            total += on_sample(i);
        }
        return NULL;
    }

    static int call_from_thread(int samples)
    {
        pthread_t thread;
        total = 0;
        pthread_create(&thread, NULL, produce, &samples);
        pthread_join(thread, NULL);
        return total;
    }
    """,
    extra_compile_args=["-g", "-O2", "-pthread"],
)

if __name__ == "__main__":
    builder.compile()
