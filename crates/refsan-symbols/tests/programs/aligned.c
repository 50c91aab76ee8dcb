#include "capture.h"

/* A function that aligns its own stack finds its caller through a saved copy of the stack pointer
   only. */
APART void use(char *wide, char *room) {
    wide[1] = room[0];
    capture("aligned");
    room[1] = wide[2];
}

APART int aligned(int n) {
    char wide[64] __attribute__((aligned(64)));
    char *room = __builtin_alloca(n * 40);
    wide[0] = room[0] = (char)n;
    use(wide, room);
    return wide[1] + room[1];
}

APART int middle(int n) {
    volatile char space[77];
    space[n] = 1;
    return aligned(n + space[n]) + 1;
}

int main(int argc, char **argv) {
    (void)argv;
    return middle(argc) == -1000;
}
