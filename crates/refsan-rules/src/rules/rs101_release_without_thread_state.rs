//! RS101: a release on a thread with no attached thread state.

use refsan_model::{RuleId, Severity};

use crate::rule::{Group, Interpreter, Rule, Situation, Status};

pub(super) const RULE: Rule = Rule {
    id: RuleId::ReleaseWithoutThreadState,
    summary: "an object is released on a thread with no attached thread state",
    group: Group::ThreadState,
    status: Status::Stable,
    since: "0.1.0",
    severity: Severity::Error,
    cure: "release it before detaching, or attach first (3.15: PyThreadState_EnsureFromView, \
           before: PyGILState_Ensure)",
    page: include_str!("rs101_release_without_thread_state.md"),
    consequence,
};

fn consequence(interpreter: Interpreter, _: Situation<'_>) -> &'static str {
    if interpreter.free_threaded {
        return "the count itself is changed safely, but the destructor of the last reference \
                reads a NULL thread state: SIGSEGV";
    }
    match interpreter.version.1 {
        8 | 9 => {
            "the release borrows the thread state of whichever thread holds the GIL and stays \
             silent; if none holds it, most destructors end in SIGSEGV"
        }
        10 | 11 => {
            "the release borrows the thread state of whichever thread holds the GIL and stays \
             silent; if none holds it, most destructors end in a fatal error"
        }
        13 => {
            "the destructor of the last reference finds no thread state: fatal error or SIGSEGV; \
             an earlier reference is silent, and the count may be damaged"
        }
        _ => {
            "the destructor of the last reference reads a NULL thread state: SIGSEGV; \
             an earlier reference is silent, and the count may be damaged"
        }
    }
}
