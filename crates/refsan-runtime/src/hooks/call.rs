//! A function that needs an attached thread state, called without one as far as the thunk can tell.

use refsan_capi::Role;
use refsan_hook::trampoline::{Frame, Site};
use refsan_interpreter::{ReferenceCount, reference_count};
use refsan_trace::layout::event_kind;

use super::{CallSite, registers};
use crate::errno::KeepErrno;
use crate::life::Life;
use crate::memory::{self, OwnMemory};
use crate::record::{self, Fault, Object};
use crate::state::{self, Watched};

pub unsafe extern "C" fn before(site: &Site, frame: &mut Frame) {
    // SAFETY: every site of this hook lies in a `CallSite`.
    let site = unsafe { CallSite::of(site) };
    if let Some(watched) = state::watched() {
        let _errno = KeepErrno::new();
        if !watched.interpreter.is_attached() {
            detached(watched, site, frame);
        }
    }
}

/// Records the call unless nothing is wrong with it.
pub fn detached(watched: &'static Watched, site: &'static CallSite, frame: &Frame) {
    let life = Life::of(&watched.interpreter);
    let Some(code) = life.code() else { return };
    let role = site.function.map_or(Role::Other, |function| function.role);
    // Ending an interpreter that is gone does nothing, and embedders do it.
    if role == Role::Finalize && life == Life::Finalized {
        return;
    }
    if does_nothing(site, frame.rdi) {
        return;
    }
    let object = match role {
        Role::Release => match released(watched, site, frame.rdi) {
            Some(object) => Some(object),
            None => return,
        },
        _ => None,
    };
    let fault = Fault {
        kind: event_kind::CALL,
        life: code,
        registers: registers(frame),
        object,
    };
    record::fault(watched, site.module, site.slot, fault);
}

/// The object of a release; `None` for a release that does nothing.
fn released(watched: &Watched, site: &CallSite, object: u64) -> Option<Object> {
    if object == 0 {
        return None;
    }
    let count = reference_count(&OwnMemory, &watched.interpreter.layout.objects, object);
    if matches!(count, Some(ReferenceCount { immortal: true, .. })) {
        return None;
    }
    let references = count.map(|count| count.value);
    // Inlined code calls these two only when nothing is left; the others count down themselves.
    let only_for_last = site.function.is_some_and(|function| {
        matches!(function.name, "_Py_Dealloc" | "_Py_MergeZeroLocalRefcount")
    });
    Some(Object {
        address: object,
        references,
        is_last: only_for_last || references == Some(1),
    })
}

/// Whether the call has nothing to do: destructors make such calls for what was given up long ago.
fn does_nothing(site: &CallSite, argument: u64) -> bool {
    let name = site.function.map_or("", |function| function.name);
    match name {
        "PyMem_Free" | "PyObject_Free" | "PyMem_Del" | "PyObject_Del" => argument == 0,
        // A buffer that was never filled, or was released before: its `obj` is null.
        "PyBuffer_Release" => memory::word(argument.wrapping_add(8)) == Some(0),
        _ => false,
    }
}
