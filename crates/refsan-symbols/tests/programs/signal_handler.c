#include "capture.h"
#include <setjmp.h>
#include <signal.h>

static volatile int count;
static sigjmp_buf back;

static void handle(int number) {
    capture("signal");
    count += number;
    siglongjmp(back, 1);
}

/* The first instruction of the function is the one at which the signal strikes. */
APART void interrupted(volatile int *nowhere) {
    *nowhere = 1; /* line of interrupted */
    count++;
}

int main(void) {
    signal(SIGSEGV, handle);
    if (sigsetjmp(back, 1) == 0)
        interrupted(0);
    return count == 0;
}
