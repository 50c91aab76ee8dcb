//! A symbol is looked up: something may have been loaded, and something may be called unseen.

use core::ffi::{CStr, c_char};

use refsan_hook::trampoline::{Frame, Site};

use crate::errno::KeepErrno;
use crate::{modules, state};

pub unsafe extern "C" fn before(_site: &Site, frame: &mut Frame) {
    let _errno = KeepErrno::new();
    modules::look_again();
    if frame.rsi == 0 {
        return;
    }
    // SAFETY: the second argument of `dlsym` is a string.
    let name = unsafe { CStr::from_ptr(frame.rsi as *const c_char) };
    if let Some(watched) = state::watched().filter(|_| hands_over(name)) {
        watched.interpreter.handovers_are_unseen();
    }
}

/// Functions that attach a thread state which may have been made on another thread. Called through
/// a pointer, they are not seen.
fn hands_over(name: &CStr) -> bool {
    let names = [
        c"PyEval_RestoreThread",
        c"PyEval_AcquireThread",
        c"PyThreadState_Swap",
    ];
    // Nearly every name is turned away at its first byte.
    name.to_bytes().first() == Some(&b'P') && names.contains(&name)
}
