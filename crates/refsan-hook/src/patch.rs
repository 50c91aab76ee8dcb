//! Writes a slot and leaves the protection of its page as it was.

use core::ops::Range;
use core::sync::atomic::{AtomicUsize, Ordering};

use rustix::io::Errno;
use rustix::mm::{MprotectFlags, mprotect};

const PAGE: usize = 4096;

/// Writes the slots of one binary. Pages of the read-only part are opened one at a time, and closed
/// when the next one is opened or the writer is dropped: a page behind the last slot is never
/// touched, since it may be anybody's.
pub struct SlotWriter {
    relro: Range<usize>,
    /// The page that is open; 0: none.
    open: usize,
}

impl SlotWriter {
    /// `relro` is the part that the loader has made read-only, in whole pages.
    pub fn new(relro: Range<usize>) -> Self {
        SlotWriter { relro, open: 0 }
    }

    /// Points the slot at `target` and returns what it held.
    ///
    /// # Errors
    /// When the page cannot be made writable.
    ///
    /// # Safety
    /// `slot` must be the address of a slot of the binary that this writer was made for, and
    /// `target` must be code that does what callers of the slot expect, for ever.
    pub unsafe fn write(&mut self, slot: usize, target: usize) -> Result<usize, Errno> {
        let page = slot & !(PAGE - 1);
        if self.relro.contains(&slot) && self.open != page {
            self.close();
            // SAFETY: the page belongs to the binary's table; it only becomes more permissive.
            unsafe {
                mprotect(
                    page as *mut _,
                    PAGE,
                    MprotectFlags::READ | MprotectFlags::WRITE,
                )
            }?;
            self.open = page;
        }
        // SAFETY: the caller names a slot, which is aligned; other threads read it as one word.
        let slot = unsafe { AtomicUsize::from_ptr(slot as *mut usize) };
        Ok(slot.swap(target, Ordering::AcqRel))
    }

    fn close(&mut self) {
        if self.open != 0 {
            // SAFETY: gives the page back the protection that the loader had given it.
            let _ = unsafe { mprotect(self.open as *mut _, PAGE, MprotectFlags::READ) };
            self.open = 0;
        }
    }
}

impl Drop for SlotWriter {
    fn drop(&mut self) {
        self.close();
    }
}
