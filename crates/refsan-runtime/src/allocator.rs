//! Memory for the parts that run outside hooks, from libc; and the end of the road for a panic.

use alloc::alloc::{GlobalAlloc, Layout};

struct Libc;

// SAFETY: libc's functions return memory of the size and alignment asked for, or null.
unsafe impl GlobalAlloc for Libc {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let mut memory = core::ptr::null_mut();
        // SAFETY: the alignment is a power of two, at least the size of a pointer.
        let result = unsafe {
            libc::posix_memalign(&raw mut memory, layout.align().max(8), layout.size().max(1))
        };
        if result == 0 {
            memory.cast()
        } else {
            core::ptr::null_mut()
        }
    }

    unsafe fn dealloc(&self, memory: *mut u8, _layout: Layout) {
        // SAFETY: the memory came from `posix_memalign`.
        unsafe { libc::free(memory.cast()) };
    }
}

#[global_allocator]
static ALLOCATOR: Libc = Libc;

/// A panic is a bug of refsan: say where, and end the process.
#[panic_handler]
fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
    let line = info.location().map_or(0, core::panic::Location::line);
    let file = info
        .location()
        .map_or("unknown", core::panic::Location::file);
    crate::message::print(format_args!(
        "refsan: internal error in the runtime at {file}:{line}\n"
    ));
    // SAFETY: ends the process.
    unsafe { libc::abort() }
}
