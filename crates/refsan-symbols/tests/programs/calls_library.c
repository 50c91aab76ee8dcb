#include "capture.h"

int exported_call(int (*)(int), int);

static APART int called_back(int n) {
    capture("library");
    return n + 1;
}

int main(int argc, char **argv) {
    (void)argv;
    return exported_call(called_back, argc) == 0;
}
