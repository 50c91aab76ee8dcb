//! A thread gives its thread state away.

use refsan_hook::trampoline::{Frame, Site};

use super::{CallSite, call};
use crate::errno::KeepErrno;
use crate::state;
use crate::thread::{self, Detach};

pub unsafe extern "C" fn before(site: &Site, frame: &mut Frame) {
    // SAFETY: every site of this hook lies in a `CallSite`.
    let site = unsafe { CallSite::of(site) };
    let Some(watched) = state::watched() else {
        return;
    };
    let _errno = KeepErrno::new();
    let interpreter = &watched.interpreter;
    if !interpreter.is_attached() {
        return call::detached(watched, site, frame);
    }
    if interpreter.is_finalizing() {
        interpreter.saw_finalizing_thread();
    }
    if keeps_thread_state(site, frame) {
        return;
    }
    let local = thread::current();
    local.attached.set(0);
    let (module, slot, return_address) = (site.module, site.slot, frame.rip);
    local.set_detach(Some(Detach {
        module,
        slot,
        return_address,
    }));
}

/// `PyGILState_Release` of a nested `PyGILState_Ensure` leaves the thread attached. Its argument
/// says so: `PyGILState_LOCKED` is 0.
fn keeps_thread_state(site: &CallSite, frame: &Frame) -> bool {
    const LOCKED: u32 = 0;
    let name = site.function.map_or("", |function| function.name);
    name == "PyGILState_Release" && frame.rdi as u32 == LOCKED
}
