#define _GNU_SOURCE
#include "capture.h"
#include <pthread.h>
#include <stdlib.h>

extern int __cxa_thread_atexit_impl(void (*)(void *), void *, void *);
extern int __cxa_atexit(void (*)(void *), void *, void *);
extern void *__dso_handle;

static volatile int count;

static APART void destroy(void *label) {
    capture(label);
    count++;
}

/* These end in a jump to capture and leave no frame. */
static APART void destroy_by_jump(void *label) { capture(label); }
static void handle_exit_by_jump(void) { capture("atexit-by-jump"); }

static void handle_exit(void) {
    capture("atexit");
    count++;
}

static __attribute__((destructor)) void finish(void) {
    capture("fini-array");
    count++;
}

static pthread_key_t key;

static void *work(void *unused) {
    (void)unused;
    pthread_setspecific(key, "thread-specific");
    __cxa_thread_atexit_impl(destroy, "thread-end", &__dso_handle);
    capture("thread");
    return 0;
}

int main(void) {
    pthread_t thread;
    pthread_key_create(&key, destroy);
    atexit(handle_exit);
    atexit(handle_exit_by_jump);
    __cxa_atexit(destroy, "cxa-atexit", &__dso_handle);
    __cxa_thread_atexit_impl(destroy, "thread-local", &__dso_handle);
    __cxa_thread_atexit_impl(destroy_by_jump, "thread-local-by-jump", &__dso_handle);
    pthread_create(&thread, 0, work, 0);
    pthread_join(thread, 0);
    capture("main");
    return 0;
}
