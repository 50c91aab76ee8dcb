//! Threads that ask for a thread state while or after the interpreter is finalized: RS203.
//!
//! One such thread may leave up to two events: that it asked, and what became of it. And one that
//! had asked before finalization began leaves only the second, or nothing but its entry in the
//! thread table when the process was killed.

use refsan_model::{Phase, RuleId, Severity};
use refsan_trace::layout::{event_kind, thread_entry_state};
use refsan_trace::{Event, Site, Trace};

use crate::detection::{Detection, Outcome, events_of, phase};

pub(crate) fn detect(trace: &Trace) -> Vec<Detection> {
    let mut detections: Vec<Detection> = Vec::new();
    for site in &trace.sites {
        let Some(outcome) = outcome(site.kind) else {
            continue;
        };
        if is_daemon_in_ctypes(trace, site.module, site.slot) {
            continue;
        }
        add(
            &mut detections,
            detection(trace, site, outcome, events_of(trace, site)),
        );
    }
    if trace.header.finalizing_seen != 0 || trace.header.finalized_seen != 0 {
        detect_unreported(trace, &mut detections);
    }
    detections
}

/// A daemon thread that comes back from a foreign function of `ctypes` while the interpreter is
/// finalizing: what becomes of daemon threads is the interpreter's decision, and no native code of
/// the program takes part. (A callback that attaches from a thread of the program's is another
/// matter.)
fn is_daemon_in_ctypes(trace: &Trace, module: u32, slot: u32) -> bool {
    let in_standard_library = trace
        .module(module)
        .is_some_and(|module| module.path.contains("/lib-dynload/"));
    in_standard_library
        && trace
            .slot(module, slot)
            .is_some_and(|slot| slot.name == "PyEval_RestoreThread")
}

/// Threads that were inside a call when the process was killed, after finalization had been seen.
fn detect_unreported(trace: &Trace, detections: &mut Vec<Detection>) {
    for thread in &trace.threads {
        let was_reported = trace
            .events
            .iter()
            .any(|event| event.tid == thread.tid && outcome(event.kind).is_some());
        let is_of_ctypes = is_daemon_in_ctypes(trace, thread.module, thread.slot);
        if thread.state != thread_entry_state::ATTACHING || was_reported || is_of_ctypes {
            continue;
        }
        let finalized = trace.header.finalized_seen != 0;
        let life = if finalized {
            refsan_trace::layout::life::FINALIZED
        } else {
            refsan_trace::layout::life::FINALIZING
        };
        let site = Site {
            return_address: thread.registers.rip,
            count: 1,
            module: thread.module,
            slot: thread.slot,
            kind: event_kind::ATTACH_NEVER_RETURNED,
            life,
        };
        add(
            detections,
            detection(trace, &site, Outcome::NeverReturned, Vec::new()),
        );
    }
}

fn outcome(kind: u8) -> Option<Outcome> {
    match kind {
        event_kind::ATTACH => Some(Outcome::Asked),
        event_kind::ATTACH_NEVER_RETURNED => Some(Outcome::NeverReturned),
        event_kind::ATTACH_ENDED_THREAD => Some(Outcome::ThreadEnded),
        _ => None,
    }
}

fn detection(trace: &Trace, site: &Site, outcome: Outcome, events: Vec<Event>) -> Detection {
    let slot = trace.slot(site.module, site.slot);
    Detection {
        rule: RuleId::AttachDuringFinalization,
        severity: Severity::Error,
        phase: phase(site.life),
        count: site.count,
        module: site.module,
        slot: site.slot,
        call: slot.map(|slot| slot.name.clone()).unwrap_or_default(),
        return_address: site.return_address,
        outcome: Some(outcome),
        events,
    }
}

/// Joins what was seen of the same call: how the thread ended tells more than that it asked, and
/// each thread that ended had asked.
fn add(detections: &mut Vec<Detection>, new: Detection) {
    let same = detections.iter_mut().find(|old| {
        (old.module, &old.call, old.return_address) == (new.module, &new.call, new.return_address)
    });
    let Some(old) = same else {
        detections.push(new);
        return;
    };
    old.count = old.count.max(new.count);
    old.phase = earlier(old.phase, new.phase);
    if new.outcome > old.outcome {
        old.outcome = new.outcome;
        let older = std::mem::replace(&mut old.events, new.events);
        old.events.extend(older);
    } else {
        old.events.extend(new.events);
    }
}

fn earlier(one: Phase, other: Phase) -> Phase {
    one.min(other)
}

#[cfg(test)]
#[path = "attach_tests.rs"]
mod tests;
