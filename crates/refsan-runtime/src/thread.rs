//! What the runtime remembers of each thread.
//!
//! It lies in initial-exec thread-local storage: one load from the thread pointer, no function
//! call, no allocation, no destructor. Rust's own thread-locals would go through
//! `__tls_get_addr` in a shared library.

use core::cell::Cell;

use refsan_trace::ThreadCell;

core::arch::global_asm!(
    ".pushsection .tbss.refsan_thread,\"awT\",@nobits",
    ".globl refsan_thread",
    ".hidden refsan_thread",
    ".type refsan_thread,@object",
    ".p2align 3",
    "refsan_thread: .zero 96",
    ".size refsan_thread, 96",
    ".popsection",
);

/// A call that gave the thread state away.
#[derive(Clone, Copy)]
pub struct Detach {
    pub module: u32,
    pub slot: u32,
    pub return_address: u64,
}

/// All fields are zero at first.
#[repr(C)]
pub struct ThreadLocal {
    /// The kernel's thread id; 0: not asked yet.
    tid: Cell<u32>,
    /// The thread is inside a recording: faults that recording itself would cause are not looked at.
    recording: Cell<u32>,
    /// The thread state that this thread attached through a watched call, which may have been made
    /// for another thread.
    pub attached: Cell<usize>,
    /// The entry in the trace's thread table; 0: none.
    entry: Cell<usize>,
    /// The site and the frame of the attach that the thread is inside of; 0: none.
    pub attach_site: Cell<usize>,
    /// See `attach_site`.
    pub attach_frame: Cell<usize>,
    detach_module: Cell<u32>,
    detach_slot: Cell<u32>,
    detach_return_address: Cell<u64>,
    /// Generation of the process for which `tid` and `entry` are right: a forked child starts anew.
    generation: Cell<u64>,
}

const _: () = assert!(size_of::<ThreadLocal>() <= 96);

/// Counts the forks that lead to this process.
static GENERATION: core::sync::atomic::AtomicU64 = core::sync::atomic::AtomicU64::new(0);

/// The calling thread's part. The reference is good as long as the thread is.
pub fn current() -> &'static ThreadLocal {
    let address: usize;
    // SAFETY: reads the thread pointer and a constant that the linker filled in.
    unsafe {
        core::arch::asm!(
            "mov {0}, qword ptr fs:[0]",
            "add {0}, qword ptr [rip + refsan_thread@GOTTPOFF]",
            out(reg) address,
            options(nostack, pure, readonly),
        );
    }
    // SAFETY: the storage is aligned, large enough, zero at first, and only this thread's.
    let local = unsafe { &*(address as *const ThreadLocal) };
    let generation = GENERATION.load(core::sync::atomic::Ordering::Relaxed);
    if local.generation.get() != generation {
        local.generation.set(generation);
        local.tid.set(0);
        local.entry.set(0);
    }
    local
}

/// In a forked child: what was remembered of ids and entries is the parent's.
pub fn forked() {
    GENERATION.fetch_add(1, core::sync::atomic::Ordering::Relaxed);
}

/// Ends a recording when dropped.
pub struct Recording(&'static ThreadLocal);

impl Drop for Recording {
    fn drop(&mut self) {
        self.0.recording.set(0);
    }
}

impl ThreadLocal {
    /// The kernel's thread id.
    pub fn tid(&self) -> u32 {
        if self.tid.get() == 0 {
            self.tid.set(
                rustix::thread::gettid()
                    .as_raw_nonzero()
                    .get()
                    .cast_unsigned(),
            );
        }
        self.tid.get()
    }

    /// Begins a recording; `None` when the thread is inside one.
    pub fn record(&'static self) -> Option<Recording> {
        (self.recording.replace(1) == 0).then_some(Recording(self))
    }

    /// Where the thread last gave its thread state away.
    pub fn detach(&self) -> Option<Detach> {
        (self.detach_return_address.get() != 0).then(|| Detach {
            module: self.detach_module.get(),
            slot: self.detach_slot.get(),
            return_address: self.detach_return_address.get(),
        })
    }

    /// Remembers where the thread gave its thread state away, or that it has it back.
    pub fn set_detach(&self, detach: Option<Detach>) {
        let return_address = detach.map_or(0, |detach| detach.return_address);
        self.detach_return_address.set(return_address);
        if let Some(detach) = detach {
            self.detach_module.set(detach.module);
            self.detach_slot.set(detach.slot);
        }
    }

    /// The thread's entry in the trace, taken at the first use.
    pub fn entry(&self, writer: &refsan_trace::Writer) -> Option<ThreadCell> {
        if self.entry.get() == 0 {
            let alive = |tid: u32| {
                let pid = rustix::process::getpid().as_raw_nonzero().get();
                // SAFETY: signal 0 is never delivered; it only asks.
                let result = unsafe { libc::syscall(libc::SYS_tgkill, pid, tid, 0) };
                result == 0
            };
            let cell = writer.take_thread(self.tid(), name(), alive)?;
            self.entry.set(cell.to_bits());
        }
        // SAFETY: the bits came from `to_bits` of this process.
        unsafe { ThreadCell::from_bits(self.entry.get()) }
    }
}

/// The kernel's name of the calling thread.
pub fn name() -> [u8; 16] {
    let mut name = [0_u8; 16];
    // SAFETY: the kernel writes at most 16 bytes.
    unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) };
    name
}

/// `pthread_self()` of the calling thread.
pub fn pthread_self() -> u64 {
    // SAFETY: always succeeds.
    unsafe { libc::pthread_self() as u64 }
}
