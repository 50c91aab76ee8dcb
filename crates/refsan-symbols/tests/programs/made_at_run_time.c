#define _GNU_SOURCE
#include "capture.h"
#include <string.h>
#include <sys/mman.h>

/* push %rbp; mov %rsp,%rbp; call *%rdi; pop %rbp; ret */
static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};

static volatile int count;

static APART void called_back(void) {
    capture("made");
    count++;
}

int main(void) {
    void *memory = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(memory, code, sizeof code);
    mprotect(memory, 4096, PROT_READ | PROT_EXEC);
    ((void (*)(void (*)(void)))memory)(called_back);
    return count == 0;
}
