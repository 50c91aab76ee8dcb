//! A thread asks for a thread state: two events, entered and returned.
//!
//! A thread that waits when finalization begins is ended inside the call or never comes back, so
//! only the missing second event tells.

use refsan_hook::trampoline::{Frame, Site};
use refsan_trace::layout::{ThreadEntry, event_kind, thread_entry_state};

use super::{CallSite, registers};
use crate::errno::KeepErrno;
use crate::life::Life;
use crate::process;
use crate::record::{self, Fault};
use crate::state::{self, Watched};
use crate::thread;

pub unsafe extern "C" fn enter(site: &Site, frame: &mut Frame) {
    // SAFETY: every site of this hook lies in a `CallSite`.
    let site = unsafe { CallSite::of(site) };
    let Some(watched) = state::watched() else {
        return;
    };
    let _errno = KeepErrno::new();
    let local = thread::current();
    local.attach_site.set(core::ptr::from_ref(site) as usize);
    local.attach_frame.set(core::ptr::from_mut(frame) as usize);
    if watched.interpreter.is_finalizing() {
        enter_while_finalizing(watched, site, frame);
    }
    if let Some(entry) = local.entry(&watched.writer) {
        entry.enter(&ThreadEntry {
            state: thread_entry_state::ATTACHING,
            tid: 0,
            module: site.module,
            slot: site.slot,
            since: process::now_coarse(),
            tstate: if names_thread_state(site) {
                frame.rdi
            } else {
                0
            },
            registers: registers(frame),
            name: [0; 16],
        });
    }
}

fn enter_while_finalizing(watched: &'static Watched, site: &CallSite, frame: &Frame) {
    let life = Life::of(&watched.interpreter);
    let Some(code) = life.code() else { return };
    if !watched.interpreter.is_attached() && is_faulty(watched, site, frame, life) {
        let (kind, registers) = (event_kind::ATTACH, registers(frame));
        let fault = Fault {
            kind,
            life: code,
            registers,
            object: None,
        };
        record::fault(watched, site.module, site.slot, fault);
    }
}

pub unsafe extern "C" fn leave(site: &Site, frame: &mut Frame) {
    // SAFETY: every site of this hook lies in a `CallSite`.
    let site = unsafe { CallSite::of(site) };
    let Some(watched) = state::watched() else {
        return;
    };
    let _errno = KeepErrno::new();
    let local = thread::current();
    local.attach_site.set(0);
    if let Some(entry) = local.entry(&watched.writer) {
        entry.leave();
    }
    local.set_detach(None);
    if names_thread_state(site) {
        // It may have been made for another thread: the thread's own knowledge is what counts.
        local.attached.set(frame.rdi as usize);
    }
}

/// The first argument is the thread state to attach.
fn names_thread_state(site: &CallSite) -> bool {
    site.function.is_some_and(|function| {
        !matches!(
            function.name,
            "PyGILState_Ensure"
                | "PyThreadState_Ensure"
                | "PyThreadState_EnsureFromView"
                | "PyEval_AcquireLock"
        )
    })
}

/// Whether to ask now is wrong.
fn is_faulty(watched: &Watched, site: &CallSite, frame: &Frame, life: Life) -> bool {
    let name = site.function.map_or("", |function| function.name);
    match name {
        // They take a guard or a view, and say no when it is too late.
        "PyThreadState_Ensure" | "PyThreadState_EnsureFromView" => false,
        // Giving a thread state back without taking another.
        "PyThreadState_Swap" | "_PyThreadState_Swap" if frame.rdi == 0 => false,
        // The thread that finalizes may let go for a moment and come back.
        _ => life == Life::Finalized || !watched.interpreter.is_finalizing_thread(),
    }
}

/// The interpreter ends this thread inside a function that attaches.
pub extern "C" fn thread_ended() {
    let Some(watched) = state::watched() else {
        return;
    };
    let _errno = KeepErrno::new();
    let local = thread::current();
    let (site, frame) = (local.attach_site.replace(0), local.attach_frame.get());
    if site == 0 || frame == 0 {
        return;
    }
    // SAFETY: both were stored by `enter` of a call that this thread is still inside of.
    let (site, frame) = unsafe { (&*(site as *const CallSite), &*(frame as *const Frame)) };
    if let Some(entry) = local.entry(&watched.writer) {
        entry.leave();
    }
    // A thread may be ended for other reasons, which are none of refsan's business.
    if let Some(code) = Life::of(&watched.interpreter)
        .code()
        .filter(|_| watched.interpreter.is_finalizing())
    {
        let (kind, registers) = (event_kind::ATTACH_ENDED_THREAD, registers(frame));
        let fault = Fault {
            kind,
            life: code,
            registers,
            object: None,
        };
        record::fault(watched, site.module, site.slot, fault);
    }
}

/// At the end of the process: another thread is still inside a function that attaches.
pub fn never_returned(watched: &'static Watched, entry: &ThreadEntry, life: Life) {
    let Some(code) = life.code() else { return };
    let kind = event_kind::ATTACH_NEVER_RETURNED;
    let fault = Fault {
        kind,
        life: code,
        registers: entry.registers,
        object: None,
    };
    record::fault_of_other_thread(watched, entry, fault);
}
