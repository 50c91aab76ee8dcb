//! Keeps `errno`: the program must not see that a call took a detour.

/// Puts `errno` back when dropped.
pub struct KeepErrno(i32);

impl KeepErrno {
    pub fn new() -> Self {
        // SAFETY: libc returns the calling thread's variable.
        KeepErrno(unsafe { *libc::__errno_location() })
    }
}

impl Drop for KeepErrno {
    fn drop(&mut self) {
        // SAFETY: as above.
        unsafe { *libc::__errno_location() = self.0 };
    }
}
