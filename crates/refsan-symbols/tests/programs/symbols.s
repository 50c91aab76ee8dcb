# Functions as symbol tables can hold them; the test knows the offsets.
        .text
        .globl  long_function
        .type   long_function, @function
long_function:
        .skip   64, 0x90
        .size   long_function, 64
        .type   nested, @function
        .set    nested, long_function + 16
        .size   nested, 8
        .skip   32, 0x90
        .globl  _internal_name
        .type   _internal_name, @function
        .weak   friendly_name
        .type   friendly_name, @function
_internal_name:
friendly_name:
        .skip   16, 0x90
        .size   _internal_name, 16
        .size   friendly_name, 16
        .globl  sizeless
        .type   sizeless, @function
sizeless:
        .skip   16, 0x90
        .section .note.GNU-stack, "", @progbits
