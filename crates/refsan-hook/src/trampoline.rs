//! The way from a redirected call into Rust and on to the function that was meant.
//!
//! A thunk jumps here with the call site's [`Site`] in r11. Both ways preserve every register that
//! can carry an argument, rax and xmm0 to xmm7 included, since a variadic function needs those.
//!
//! * *before*: Rust runs first, then the function is jumped to. It sees its caller's return address
//!   and stack, and nothing of the detour.
//! * *around*: Rust runs before and after. The interpreter may end the thread inside the function
//!   by a forced unwind, so the frame has unwind data; its personality routine is how that is
//!   noticed.

use core::ffi::c_int;

/// What a thunk and its trampoline know of a call site. The owner may place its own data behind it.
#[repr(C)]
pub struct Site {
    /// The function that was meant.
    pub target: usize,
    /// Called first.
    pub before: unsafe extern "C" fn(&Site, &mut Frame),
    /// Called after the function has returned, with its result in [`Frame::rax`]. Only for *around*.
    pub after: unsafe extern "C" fn(&Site, &mut Frame),
}

/// The registers of the caller, at the call.
#[repr(C)]
pub struct Frame {
    /// The first argument.
    pub rdi: u64,
    /// The second argument.
    pub rsi: u64,
    /// The third argument.
    pub rdx: u64,
    /// The fourth argument.
    pub rcx: u64,
    /// The fifth argument.
    pub r8: u64,
    /// The sixth argument.
    pub r9: u64,
    /// For a variadic call the number of vector registers; in `after` the result.
    pub rax: u64,
    /// The site.
    pub r11: u64,
    /// The vector arguments; only for *before*.
    pub xmm: [[u64; 2]; 8],
    /// Callee-saved.
    pub rbx: u64,
    /// Callee-saved.
    pub rbp: u64,
    /// Callee-saved.
    pub r12: u64,
    /// Callee-saved.
    pub r13: u64,
    /// Callee-saved.
    pub r14: u64,
    /// Callee-saved.
    pub r15: u64,
    /// The return address.
    pub rip: u64,
    /// The stack pointer after the return.
    pub rsp: u64,
}

const _: () = assert!(size_of::<Frame>() == 256);

// SAFETY: both are defined below, and only their addresses are used.
unsafe extern "C" {
    /// Where thunks of the kind *before* go. Not to be called.
    pub fn refsan_hook_before();
    /// Where thunks of the kind *around* go. Not to be called.
    pub fn refsan_hook_around();
}

core::arch::global_asm!(
    r#"
    .pushsection .text.refsan_hook_before,"ax",@progbits
    .globl refsan_hook_before
    .hidden refsan_hook_before
    .type refsan_hook_before,@function
    .p2align 4
refsan_hook_before:
    .cfi_startproc
    sub rsp, 264
    .cfi_adjust_cfa_offset 264
    mov [rsp], rdi
    mov [rsp + 8], rsi
    mov [rsp + 16], rdx
    mov [rsp + 24], rcx
    mov [rsp + 32], r8
    mov [rsp + 40], r9
    mov [rsp + 48], rax
    mov [rsp + 56], r11
    movups [rsp + 64], xmm0
    movups [rsp + 80], xmm1
    movups [rsp + 96], xmm2
    movups [rsp + 112], xmm3
    movups [rsp + 128], xmm4
    movups [rsp + 144], xmm5
    movups [rsp + 160], xmm6
    movups [rsp + 176], xmm7
    mov [rsp + 192], rbx
    mov [rsp + 200], rbp
    mov [rsp + 208], r12
    mov [rsp + 216], r13
    mov [rsp + 224], r14
    mov [rsp + 232], r15
    mov rax, [rsp + 264]
    mov [rsp + 240], rax
    lea rax, [rsp + 272]
    mov [rsp + 248], rax
    mov rdi, r11
    mov rsi, rsp
    call [r11 + 8]
    mov rdi, [rsp]
    mov rsi, [rsp + 8]
    mov rdx, [rsp + 16]
    mov rcx, [rsp + 24]
    mov r8, [rsp + 32]
    mov r9, [rsp + 40]
    mov rax, [rsp + 48]
    mov r11, [rsp + 56]
    movups xmm0, [rsp + 64]
    movups xmm1, [rsp + 80]
    movups xmm2, [rsp + 96]
    movups xmm3, [rsp + 112]
    movups xmm4, [rsp + 128]
    movups xmm5, [rsp + 144]
    movups xmm6, [rsp + 160]
    movups xmm7, [rsp + 176]
    add rsp, 264
    .cfi_adjust_cfa_offset -264
    jmp [r11]
    .cfi_endproc
    .size refsan_hook_before, . - refsan_hook_before
    .popsection

    .pushsection .text.refsan_hook_around,"ax",@progbits
    .globl refsan_hook_around
    .hidden refsan_hook_around
    .type refsan_hook_around,@function
    .p2align 4
refsan_hook_around:
    .cfi_startproc
    .cfi_personality 0x1b, {personality}
    push rbp
    .cfi_def_cfa_offset 16
    .cfi_offset rbp, -16
    mov rbp, rsp
    .cfi_def_cfa_register rbp
    sub rsp, 256
    mov [rsp], rdi
    mov [rsp + 8], rsi
    mov [rsp + 16], rdx
    mov [rsp + 24], rcx
    mov [rsp + 32], r8
    mov [rsp + 40], r9
    mov [rsp + 48], rax
    mov [rsp + 56], r11
    mov [rsp + 192], rbx
    mov rax, [rbp]
    mov [rsp + 200], rax
    mov [rsp + 208], r12
    mov [rsp + 216], r13
    mov [rsp + 224], r14
    mov [rsp + 232], r15
    mov rax, [rbp + 8]
    mov [rsp + 240], rax
    lea rax, [rbp + 16]
    mov [rsp + 248], rax
    mov rdi, r11
    mov rsi, rsp
    call [r11 + 8]
    mov rdi, [rsp]
    mov rsi, [rsp + 8]
    mov rdx, [rsp + 16]
    mov rcx, [rsp + 24]
    mov r8, [rsp + 32]
    mov r9, [rsp + 40]
    mov rax, [rsp + 48]
    mov r11, [rsp + 56]
    call [r11]
    mov [rsp + 48], rax
    mov rdi, [rsp + 56]
    mov rsi, rsp
    call [rdi + 16]
    mov rax, [rsp + 48]
    leave
    .cfi_def_cfa rsp, 8
    ret
    .cfi_endproc
    .size refsan_hook_around, . - refsan_hook_around
    .popsection
    "#,
    personality = sym personality,
);

/// Bit of the unwinder's `actions`: the unwinding was forced, as `pthread_exit` does it.
const FORCE_UNWIND: c_int = 8;
/// The unwinder's `_URC_CONTINUE_UNWIND`.
const CONTINUE_UNWIND: c_int = 8;

/// Called when a thread is ended inside a function that is called *around*.
static ON_FORCED_UNWIND: core::sync::atomic::AtomicUsize = core::sync::atomic::AtomicUsize::new(0);

/// Sets what is called when a thread is ended inside a function that is called *around*. It runs
/// on that thread, deeper in its stack.
pub fn on_forced_unwind(call: extern "C" fn()) {
    ON_FORCED_UNWIND.store(call as usize, core::sync::atomic::Ordering::Release);
}

/// The personality routine of the frame of *around*: it lets everything pass.
///
/// # Safety
/// Only for the unwinder.
unsafe extern "C" fn personality(
    _version: c_int,
    actions: c_int,
    _class: u64,
    _exception: usize,
    _context: usize,
) -> c_int {
    let call = ON_FORCED_UNWIND.load(core::sync::atomic::Ordering::Acquire);
    if actions & FORCE_UNWIND != 0 && call != 0 {
        // SAFETY: only `on_forced_unwind` stores here, and it stores such a function.
        let call = unsafe { core::mem::transmute::<usize, extern "C" fn()>(call) };
        call();
    }
    CONTINUE_UNWIND
}
