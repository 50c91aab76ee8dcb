//! RS201: a release after the interpreter was finalized.

use refsan_model::{RuleId, Severity};

use crate::rule::{Group, Interpreter, Rule, Situation, Status};

pub(super) const RULE: Rule = Rule {
    id: RuleId::ReleaseAfterFinalization,
    summary: "an object is released after the interpreter was finalized",
    group: Group::Finalization,
    status: Status::Stable,
    since: "0.1.0",
    severity: Severity::Error,
    cure: "release it in an `atexit` callback registered at import, or never: no static or \
           thread_local variable may own a reference",
    page: include_str!("rs201_release_after_finalization.md"),
    consequence,
};

fn consequence(interpreter: Interpreter, _: Situation<'_>) -> &'static str {
    match interpreter.version.1 {
        _ if interpreter.free_threaded => {
            "the destructor of the last reference reads a NULL thread state: SIGSEGV; \
             the object's memory may be gone already"
        }
        8 | 9 => {
            "the destructor of the last reference ends in SIGSEGV, or silently uses freed memory \
             where the type needs no thread state"
        }
        10 | 11 => {
            "the last reference ends in the fatal error `PyThreadState_Get`, or silently uses \
             freed memory where the type needs no thread state"
        }
        12 => "the last reference ends in SIGSEGV, or silently uses freed memory",
        13 => "the last reference ends in the fatal error `PyThreadState_Get` or in SIGSEGV",
        _ => "the destructor of the last reference reads a NULL thread state: SIGSEGV",
    }
}
