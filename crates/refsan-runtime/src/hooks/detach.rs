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
    let local = thread::current();
    local.attached.set(0);
    let (module, slot, return_address) = (site.module, site.slot, frame.rip);
    local.set_detach(Some(Detach {
        module,
        slot,
        return_address,
    }));
}
