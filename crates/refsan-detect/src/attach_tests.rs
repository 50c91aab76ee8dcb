use refsan_trace::layout::{Header, Registers, life};
use refsan_trace::{Module, Slot, Thread};
use zerocopy::FromZeros;

use super::*;

fn trace(sites: &[(u8, u8, u64)]) -> Trace {
    let slot = Slot {
        name: "PyEval_RestoreThread".to_owned(),
        calls: 1,
        address: 0,
        flags: 0,
    };
    let module = Module {
        id: 3,
        role: 1,
        reason: 0,
        bias: 0,
        start: 0,
        end: 0x10000,
        build_id: Vec::new(),
        path: "ext.so".to_owned(),
        slots: vec![slot],
    };
    let sites = sites.iter().map(|(kind, life, count)| Site {
        return_address: 0x1234,
        count: *count,
        module: 3,
        slot: 0,
        kind: *kind,
        life: *life,
    });
    Trace {
        path: "t.rstrace".into(),
        header: Header::new_zeroed(),
        modules: vec![module],
        sites: sites.collect(),
        threads: Vec::new(),
        events: Vec::new(),
        stacks: Vec::new(),
        python_stacks: Vec::new(),
        damage: Vec::new(),
    }
}

#[test]
fn asking_and_being_ended_are_one_fault_with_the_worse_outcome() {
    let trace = trace(&[
        (event_kind::ATTACH, life::FINALIZING, 4),
        (event_kind::ATTACH_ENDED_THREAD, life::FINALIZED, 3),
    ]);
    let detections = detect(&trace);
    assert_eq!(detections.len(), 1);
    assert_eq!(detections[0].outcome, Some(Outcome::ThreadEnded));
    assert_eq!(detections[0].count, 4);
    assert_eq!(detections[0].phase, Phase::Finalizing);
    assert_eq!(detections[0].call, "PyEval_RestoreThread");
}

#[test]
fn a_thread_inside_a_call_counts_only_once_finalization_was_seen() {
    let mut trace = trace(&[]);
    trace.threads.push(Thread {
        tid: 7,
        state: thread_entry_state::ATTACHING,
        module: 3,
        slot: 0,
        since: 0,
        tstate: 0,
        registers: Registers {
            rip: 0x1234,
            ..Registers::default()
        },
        name: "worker".to_owned(),
    });
    assert_eq!(detect(&trace), []);
    trace.header.finalizing_seen = 5;
    let detections = detect(&trace);
    assert_eq!(detections.len(), 1);
    assert_eq!(detections[0].outcome, Some(Outcome::NeverReturned));
    trace.threads[0].state = thread_entry_state::IDLE;
    assert_eq!(detect(&trace), []);
}

#[test]
fn a_daemon_thread_in_a_foreign_function_of_ctypes_is_nobodys_fault() {
    let mut trace = trace(&[(event_kind::ATTACH, life::FINALIZING, 1)]);
    assert_eq!(detect(&trace).len(), 1);
    trace.modules[0].path = "/usr/lib/python3.11/lib-dynload/_ctypes.cpython-311.so".to_owned();
    assert_eq!(detect(&trace), []);
    trace.modules[0].slots[0].name = "PyGILState_Ensure".to_owned();
    assert_eq!(detect(&trace).len(), 1);
}
