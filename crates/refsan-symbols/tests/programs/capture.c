#define _GNU_SOURCE
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct registers {
    uint64_t rip, rsp, rbp, rbx, r12, r13, r14, r15;
};

__thread struct registers captured;

/* Like the runtime's thunks it jumps on and leaves no frame of its own. */
__asm__(".text\n"
        ".globl capture\n"
        ".type capture, @function\n"
        "capture:\n"
        "  movq captured@gottpoff(%rip), %rdx\n"
        "  addq %fs:0, %rdx\n"
        "  movq (%rsp), %rax\n"
        "  movq %rax, 0(%rdx)\n"
        "  leaq 8(%rsp), %rax\n"
        "  movq %rax, 8(%rdx)\n"
        "  movq %rbp, 16(%rdx)\n"
        "  movq %rbx, 24(%rdx)\n"
        "  movq %r12, 32(%rdx)\n"
        "  movq %r13, 40(%rdx)\n"
        "  movq %r14, 48(%rdx)\n"
        "  movq %r15, 56(%rdx)\n"
        "  jmp capture_write\n"
        ".size capture, .-capture\n");

static int write_module(struct dl_phdr_info *info, size_t size, void *out) {
    (void)size;
    char path[4096];
    uint64_t start = UINT64_MAX, end = 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type != PT_LOAD)
            continue;
        uint64_t first = info->dlpi_addr + header->p_vaddr;
        if (first < start)
            start = first;
        if (first + header->p_memsz > end)
            end = first + header->p_memsz;
    }
    if (info->dlpi_name[0]) {
        snprintf(path, sizeof path, "%s", info->dlpi_name);
    } else {
        ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
        path[length < 0 ? 0 : length] = 0;
    }
    fprintf((FILE *)out, "%lx %lx %lx %s\n", (unsigned long)info->dlpi_addr, (unsigned long)start,
            (unsigned long)end, path);
    return 0;
}

static uint64_t stack_end(uint64_t inside) {
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[4096];
    unsigned long start, end, found = 0;
    while (maps && fgets(line, sizeof line, maps))
        if (sscanf(line, "%lx-%lx", &start, &end) == 2 && start <= inside && inside < end)
            found = end;
    if (maps)
        fclose(maps);
    return found;
}

__attribute__((used)) void capture_write(const char *label) {
    char path[4096];
    const char *directory = getenv("SNAPSHOTS");
    struct registers registers = captured;
    uint64_t end = stack_end(registers.rsp);
    snprintf(path, sizeof path, "%s/%s.stack", directory, label);
    FILE *file = fopen(path, "wb");
    if (!file || !end)
        abort();
    fwrite(&registers, sizeof registers, 1, file);
    fwrite((void *)registers.rsp, 1, end - registers.rsp, file);
    fclose(file);
    snprintf(path, sizeof path, "%s/%s.modules", directory, label);
    file = fopen(path, "w");
    if (!file)
        abort();
    dl_iterate_phdr(write_module, file);
    fclose(file);
}
