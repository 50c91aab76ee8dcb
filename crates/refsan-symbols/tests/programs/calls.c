#include "capture.h"

static inline __attribute__((always_inline)) int inlined(int n) {
    capture("calls"); /* line of inlined */
    return n + 1;
}

APART int inner(int n) {
    int r = inlined(n); /* line of inner */
    return r * n;
}

APART int outer(int n) {
    volatile char room[3000];
    room[n] = 1;
    return inner(n + room[n]) + 1; /* line of outer */
}

int main(int argc, char **argv) {
    (void)argv;
    return outer(argc) == 0; /* line of main */
}
