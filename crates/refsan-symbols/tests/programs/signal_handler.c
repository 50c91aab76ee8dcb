#include "capture.h"
#include <signal.h>

static volatile int count;

static void handle(int number) {
    capture("signal");
    count += number;
}

__attribute__((noipa)) void interrupted(void) {
    *(volatile int *)0; /* line of interrupted */
    count++;
}

#include <setjmp.h>
static sigjmp_buf back;
static void handle_and_leave(int number) {
    handle(number);
    siglongjmp(back, 1);
}

int main(void) {
    signal(SIGSEGV, handle_and_leave);
    if (sigsetjmp(back, 1) == 0)
        interrupted();
    return count == 0;
}
