//! RS102: a call of the C-API on a thread with no attached thread state.

use refsan_model::{RuleId, Severity};

use crate::rule::{Group, Interpreter, Rule, Situation, Status};

pub(super) const RULE: Rule = Rule {
    id: RuleId::CallWithoutThreadState,
    summary: "a C-API function is called on a thread with no attached thread state",
    group: Group::ThreadState,
    status: Status::Stable,
    since: "0.1.0",
    severity: Severity::Error,
    cure: "call it before detaching, or attach first (3.15: PyThreadState_EnsureFromView, \
           before: PyGILState_Ensure)",
    page: include_str!("rs102_call_without_thread_state.md"),
    consequence,
};

fn consequence(interpreter: Interpreter, _: Situation<'_>) -> &'static str {
    match interpreter.version.1 {
        8..=11 => {
            "the call borrows the thread state of whichever thread holds the GIL and stays silent; \
             if none holds it, calls that raise or run Python end in SIGSEGV"
        }
        _ if interpreter.free_threaded => {
            "functions that allocate, raise or run Python read a NULL thread state: SIGSEGV; \
             those that only read return, unprotected"
        }
        _ => {
            "functions that allocate, raise or run Python read a NULL thread state: SIGSEGV; \
             those that only read return silently, racing the thread that holds the GIL"
        }
    }
}
