//! RS202: a call of the C-API after the interpreter was finalized.

use refsan_model::{RuleId, Severity};

use crate::rule::{Group, Interpreter, Rule, Situation, Status};

pub(super) const RULE: Rule = Rule {
    id: RuleId::CallAfterFinalization,
    summary: "a C-API function is called after the interpreter was finalized",
    group: Group::Finalization,
    status: Status::Stable,
    since: "0.1.0",
    severity: Severity::Error,
    cure: "do it in an `atexit` callback registered at import; native exit handlers and static \
           destructors run too late",
    page: include_str!("rs202_call_after_finalization.md"),
    consequence,
};

fn consequence(interpreter: Interpreter, _: Situation<'_>) -> &'static str {
    match interpreter.version.1 {
        8..=11 => {
            "no thread holds the GIL any more, so calls that raise or run Python end in SIGSEGV; \
             others may silently use freed memory"
        }
        _ => {
            "functions that allocate, raise or run Python read a NULL thread state: SIGSEGV; \
             those that only read may silently use freed memory"
        }
    }
}
