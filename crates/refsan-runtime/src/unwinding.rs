//! The names that the compiled core library wants for unwinding, which this library never does.
//!
//! They are hidden: exported, `_Unwind_Resume` would replace the program's own.

core::arch::global_asm!(
    ".pushsection .text.refsan_no_unwinding,\"ax\",@progbits",
    ".globl rust_eh_personality",
    ".hidden rust_eh_personality",
    ".globl _Unwind_Resume",
    ".hidden _Unwind_Resume",
    "rust_eh_personality:",
    "_Unwind_Resume:",
    "ud2",
    ".popsection",
);
