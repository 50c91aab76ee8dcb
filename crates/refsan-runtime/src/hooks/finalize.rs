//! A program that embeds the interpreter ends it.

use refsan_hook::trampoline::{Frame, Site};

use super::{CallSite, call};
use crate::errno::KeepErrno;
use crate::state;

pub unsafe extern "C" fn before(site: &Site, frame: &mut Frame) {
    // SAFETY: every site of this hook lies in a `CallSite`.
    let site = unsafe { CallSite::of(site) };
    let Some(watched) = state::watched() else {
        return;
    };
    let _errno = KeepErrno::new();
    if watched.interpreter.is_attached() {
        // From here on this thread may let go and come back, and no other may.
        watched.interpreter.saw_finalizing_thread();
    } else {
        call::detached(watched, site, frame);
    }
}
