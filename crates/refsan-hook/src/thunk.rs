//! The code that a slot is pointed at: counts the call, decides in a few instructions whether it is
//! of interest, and jumps on.
//!
//! A thunk is a copy of one of the templates below, followed by its data. Code pages are written
//! once and then made executable; what changes (the counter) lies elsewhere. Only r10 and r11 are
//! used, which no C function expects to be preserved at its entry.

use core::ptr::NonNull;

use rustix::io::Errno;
use rustix::mm::{MapFlags, MprotectFlags, ProtFlags};

use crate::trampoline::{Site, refsan_hook_around, refsan_hook_before};

/// When a call may go straight to its function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// Never: every call goes through the trampoline.
    Closed,
    /// When the word at this offset from the thread pointer is not zero.
    ThreadWord {
        /// The offset, in bytes.
        offset: isize,
    },
    /// When the word at `word` is a pointer that is not null, and the field at `field` behind it is
    /// the calling thread's `pthread_self()`.
    ///
    /// The field of a structure that another thread has just freed may be read; it lies in the heap.
    Owner {
        /// The address of the pointer.
        word: usize,
        /// The offset of the field, in bytes.
        field: usize,
    },
}

/// Which trampoline a call that is of interest takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Rust, then the function.
    Before,
    /// Rust, the function, Rust.
    Around,
}

#[repr(C)]
struct Data {
    counter: usize,
    gate_first: usize,
    gate_second: usize,
    target: usize,
    site: usize,
    trampoline: usize,
}

macro_rules! template {
    ($name:literal, $($line:literal),+ $(,)?) => {
        core::arch::global_asm!(
            concat!(".pushsection .text.", $name, ",\"ax\",@progbits"),
            concat!(".globl ", $name), concat!(".hidden ", $name),
            concat!(".globl ", $name, "_data"), concat!(".hidden ", $name, "_data"),
            ".p2align 6",
            concat!($name, ":"),
            "mov r11, [rip + 70f]",
            "add qword ptr [r11], 1",
            $($line,)+
            ".p2align 3",
            concat!($name, "_data:"),
            "70: .quad 0", // counter
            "71: .quad 0", // gate_first
            "72: .quad 0", // gate_second
            "73: .quad 0", // target
            "74: .quad 0", // site
            "75: .quad 0", // trampoline
            ".popsection",
        );
    };
}

template!(
    "refsan_thunk_closed",
    "mov r11, [rip + 74f]",
    "jmp [rip + 75f]",
);

template!(
    "refsan_thunk_thread_word",
    "mov r11, [rip + 71f]",
    "cmp qword ptr fs:[r11], 0",
    "je 60f",
    "jmp [rip + 73f]",
    "60: mov r11, [rip + 74f]",
    "jmp [rip + 75f]",
);

template!(
    "refsan_thunk_owner",
    "mov r11, [rip + 71f]",
    "mov r11, [r11]",
    "test r11, r11",
    "je 60f",
    "add r11, [rip + 72f]",
    "mov r11, [r11]",
    "cmp r11, fs:[0x10]",
    "jne 60f",
    "jmp [rip + 73f]",
    "60: mov r11, [rip + 74f]",
    "jmp [rip + 75f]",
);

// SAFETY: the templates above define these labels, and only their addresses are used.
unsafe extern "C" {
    static refsan_thunk_closed: u8;
    static refsan_thunk_closed_data: u8;
    static refsan_thunk_thread_word: u8;
    static refsan_thunk_thread_word_data: u8;
    static refsan_thunk_owner: u8;
    static refsan_thunk_owner_data: u8;
}

/// The code of a template and its data offset, in bytes.
fn template(gate: Gate) -> (*const u8, usize) {
    let (start, data) = match gate {
        Gate::Closed => (
            &raw const refsan_thunk_closed,
            &raw const refsan_thunk_closed_data,
        ),
        Gate::ThreadWord { .. } => (
            &raw const refsan_thunk_thread_word,
            &raw const refsan_thunk_thread_word_data,
        ),
        Gate::Owner { .. } => (
            &raw const refsan_thunk_owner,
            &raw const refsan_thunk_owner_data,
        ),
    };
    (start, data as usize - start as usize)
}

/// The largest thunk, in bytes.
const LARGEST: usize = 128;

/// Room for thunks: writable until it is sealed, then executable for ever.
pub struct Arena {
    start: NonNull<u8>,
    used: usize,
    size: usize,
}

impl Arena {
    /// Room for `count` thunks.
    ///
    /// # Errors
    /// When the system gives no memory.
    pub fn new(count: usize) -> Result<Arena, Errno> {
        let size = (count.max(1) * LARGEST).next_multiple_of(4096);
        // SAFETY: a new private mapping at an address of the kernel's choice disturbs nobody.
        let start = unsafe {
            rustix::mm::mmap_anonymous(
                core::ptr::null_mut(),
                size,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE,
            )
        }?;
        let start = NonNull::new(start.cast()).ok_or(Errno::NOMEM)?;
        Ok(Arena {
            start,
            used: 0,
            size,
        })
    }

    /// Makes a thunk. It may be used once the arena is sealed. `None` when the arena is full.
    ///
    /// # Safety
    /// `counter` must point to a word that may be written, for ever, and `site` must live as long.
    pub unsafe fn add(
        &mut self,
        gate: Gate,
        way: Way,
        counter: *mut u64,
        site: &'static Site,
    ) -> Option<usize> {
        let (code, data_offset) = template(gate);
        let whole = (data_offset + size_of::<Data>()).next_multiple_of(64);
        if whole > LARGEST || self.used + whole > self.size {
            return None;
        }
        let (gate_first, gate_second) = match gate {
            Gate::Closed => (0, 0),
            Gate::ThreadWord { offset } => (offset as usize, 0),
            Gate::Owner { word, field } => (word, field),
        };
        let trampoline = match way {
            Way::Before => refsan_hook_before as *const () as usize,
            Way::Around => refsan_hook_around as *const () as usize,
        };
        let data = Data {
            counter: counter as usize,
            gate_first,
            gate_second,
            target: site.target,
            site: core::ptr::from_ref(site) as usize,
            trampoline,
        };
        // SAFETY: the room was checked; the template is readable code of that length and only uses
        // labels inside itself, so a copy works; its data lies eight-aligned behind it.
        let thunk = unsafe {
            let thunk = self.start.as_ptr().add(self.used);
            core::ptr::copy_nonoverlapping(code, thunk, data_offset);
            thunk.add(data_offset).cast::<Data>().write(data);
            thunk
        };
        self.used += whole;
        Some(thunk as usize)
    }

    /// Makes the thunks executable. The memory is never given back: a slot, or a copy of it in a
    /// type, may lead there until the process ends.
    ///
    /// # Errors
    /// When the system refuses executable memory.
    pub fn seal(self) -> Result<(), Errno> {
        // SAFETY: the arena owns the pages, and nobody writes them after this.
        unsafe {
            let flags = MprotectFlags::READ | MprotectFlags::EXEC;
            rustix::mm::mprotect(self.start.as_ptr().cast(), self.size, flags)
        }
    }
}
