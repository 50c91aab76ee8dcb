# The address of `sink` is loaded before it is used.
    .macro function name
    .globl \name
    .type \name, @function
\name:
    .cfi_startproc
    .endm
    .macro end name
    .cfi_endproc
    .size \name, .-\name
    .endm

    .text
.ifdef FIRST
    # A jump is the very first instruction of all code.
    function jumps
    jmp sink@PLT
    end jumps
.endif

.ifdef LOADED
    function hoisted
    push %rbx
    .cfi_def_cfa_offset 16
    mov sink@GOTPCREL(%rip), %rbx
    call *%rbx
    xor %eax, %eax
    pop %rbx
    .cfi_def_cfa_offset 8
    ret
    end hoisted

    function loads_and_jumps
    mov sink@GOTPCREL(%rip), %rax
    add $8, %rdi
    jmp *%rax
    end loads_and_jumps

    function calls_register
    push %rbx
    .cfi_def_cfa_offset 16
    call *%rsi
    xor %eax, %eax
    pop %rbx
    .cfi_def_cfa_offset 8
    ret
    end calls_register
.endif

.ifdef STORED
    function stores
    mov sink@GOTPCREL(%rip), %rax
    mov %rax, 8(%rdi)
    ret
    end stores
.endif

.ifdef SWITCH
    # A jump table is no way out of the function.
    function switches
    lea table(%rip), %rdx
    movslq (%rdx,%rdi,4), %rax
    add %rdx, %rax
    jmp *%rax
zero:
    ret
one:
    jmp sink@PLT
    end switches

    function calls_switches
    push %rbx
    .cfi_def_cfa_offset 16
    call local_switches
    pop %rbx
    .cfi_def_cfa_offset 8
    ret
    end calls_switches
    .set local_switches, switches

    function also_jumps
    jne sink@PLT
    ret
    end also_jumps

    .section .rodata
table:
    .long zero - table
    .long one - table
.endif
    .section .note.GNU-stack, "", @progbits
