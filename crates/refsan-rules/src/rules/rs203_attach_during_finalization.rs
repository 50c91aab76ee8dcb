//! RS203: a thread asks for a thread state while or after the interpreter is finalized.

use refsan_model::{Phase, RuleId, Severity, ThreadState};

use crate::rule::{Group, Interpreter, Rule, Situation, Status};

pub(super) const RULE: Rule = Rule {
    id: RuleId::AttachDuringFinalization,
    summary: "a thread asks for a thread state while or after the interpreter is finalized",
    group: Group::Finalization,
    status: Status::Stable,
    since: "0.1.0",
    severity: Severity::Error,
    cure: "3.15: attach with PyThreadState_EnsureFromView and give up on NULL; before: stop and \
           join the thread in an `atexit` callback",
    page: include_str!("rs203_attach_during_finalization.md"),
    consequence,
};

const ENDED: &str = "the thread is ended inside the call by pthread_exit: destructors on its stack \
                     run detached, and a noexcept frame or catch(...) aborts the process";
const HANGS: &str = "the call never returns: the thread hangs with every lock that it holds, \
                     until the process exits";

/// 3.13.8 changed ending the thread into hanging it; free-threaded builds do as the others.
fn consequence(interpreter: Interpreter, situation: Situation<'_>) -> &'static str {
    let (_, minor, micro) = interpreter.version;
    let hangs = (minor, micro) >= (13, 8);
    // PyEval_RestoreThread and kin bring a thread state of their own, whatever the thread has.
    let brings_one = situation
        .call
        .is_some_and(|call| call != "PyGILState_Ensure");
    let stateless = match situation.state {
        _ if brings_one => Some(false),
        Some(ThreadState::None | ThreadState::Gone) => Some(true),
        Some(ThreadState::Detached) => Some(false),
        None => None,
    };
    match (situation.phase, stateless) {
        (Some(Phase::Finalized), Some(true)) if minor == 15 => {
            "the call never returns; on the main thread the process never exits"
        }
        (Some(Phase::Finalized), Some(true)) => {
            "PyGILState_Ensure makes a thread state for an interpreter that is gone: SIGSEGV"
        }
        (Some(Phase::Finalized), Some(false)) if minor == 8 => {
            "the thread waits for ever for a GIL that finalization never gives back"
        }
        (Some(Phase::Finalizing), Some(true)) if minor == 14 => {
            "the attach succeeds, and the thread runs on a half torn-down interpreter"
        }
        (Some(Phase::Finalizing), None) | (None, _) if minor == 14 => {
            "a thread with a detached thread state hangs in the call; one without attaches to a \
             half torn-down interpreter, or crashes once that is gone"
        }
        (Some(Phase::Finalized), None) if minor < 15 => {
            "PyGILState_Ensure on a thread without a thread state ends in SIGSEGV; a thread with \
             a detached one is ended or hangs in the call"
        }
        _ if hangs => HANGS,
        _ => ENDED,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(
        version: (u8, u8, u8),
        phase: Option<Phase>,
        state: Option<ThreadState>,
    ) -> &'static str {
        let interpreter = Interpreter {
            version,
            free_threaded: false,
        };
        RULE.consequence(
            interpreter,
            Situation {
                phase,
                state,
                call: None,
            },
        )
        .unwrap_or_default()
    }

    #[test]
    fn the_thread_is_ended_up_to_3_13_7_and_hangs_from_3_13_8() {
        for version in [(3, 8, 18), (3, 12, 1), (3, 13, 0), (3, 13, 7)] {
            assert_eq!(text(version, None, None), ENDED);
            assert_eq!(
                text(
                    version,
                    Some(Phase::Finalizing),
                    Some(ThreadState::Detached)
                ),
                ENDED
            );
        }
        for version in [(3, 13, 8), (3, 13, 11), (3, 14, 0), (3, 15, 2)] {
            assert_eq!(
                text(
                    version,
                    Some(Phase::Finalizing),
                    Some(ThreadState::Detached)
                ),
                HANGS
            );
        }
        assert_eq!(text((3, 13, 8), None, None), HANGS);
        assert_eq!(text((3, 15, 0), None, None), HANGS);
    }

    #[test]
    fn a_thread_without_a_state_attaches_on_3_14() {
        let text = text((3, 14, 7), Some(Phase::Finalizing), Some(ThreadState::None));
        assert!(text.starts_with("the attach succeeds"), "{text}");
        let interpreter = Interpreter {
            version: (3, 14, 7),
            free_threaded: false,
        };
        let situation = Situation {
            phase: Some(Phase::Finalizing),
            state: Some(ThreadState::None),
            call: Some("PyEval_RestoreThread"),
        };
        assert_eq!(RULE.consequence(interpreter, situation), Some(HANGS));
    }

    #[test]
    fn after_finalization_a_thread_without_a_state_crashes_up_to_3_14_and_hangs_on_3_15() {
        for minor in 8..=14 {
            let text = text(
                (3, minor, 0),
                Some(Phase::Finalized),
                Some(ThreadState::None),
            );
            assert!(text.ends_with("SIGSEGV"), "{minor}: {text}");
        }
        let text = text((3, 15, 2), Some(Phase::Finalized), Some(ThreadState::None));
        assert!(text.contains("never exits"), "{text}");
    }
}
