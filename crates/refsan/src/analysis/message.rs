//! The sentence of a finding.

use refsan_detect::{Detection, Outcome};
use refsan_model::{Object, Phase, RuleId};
use refsan_symbols::ExitStage;

/// One sentence for people, without a full stop.
pub fn message(detection: &Detection, object: Option<&Object>) -> String {
    let call = &detection.call;
    match detection.rule {
        RuleId::ReleaseWithoutThreadState => {
            format!("{} with no thread state attached", released(object))
        }
        RuleId::ReleaseAfterFinalization => {
            format!("{} after the interpreter was finalized", released(object))
        }
        RuleId::CallWithoutThreadState => format!("`{call}` called with no thread state attached"),
        RuleId::CallAfterFinalization => {
            format!("`{call}` called after the interpreter was finalized")
        }
        RuleId::AttachDuringFinalization => match detection.outcome {
            Some(Outcome::ThreadEnded) => {
                format!(
                    "thread ended by the interpreter inside `{call}`, {}",
                    when(detection.phase)
                )
            }
            Some(Outcome::NeverReturned) => {
                format!("`{call}` never came back, {}", when(detection.phase))
            }
            Some(Outcome::Asked) | None => format!("`{call}` called {}", when(detection.phase)),
        },
    }
}

/// The cure in one line: the rule's, unless the place of the fault calls for another.
pub fn cure(rule: RuleId, stage: Option<ExitStage>) -> &'static str {
    let ending_thread = matches!(
        stage,
        Some(ExitStage::ThreadExit | ExitStage::ThreadSpecificData)
    );
    match rule {
        RuleId::ReleaseWithoutThreadState | RuleId::CallWithoutThreadState if ending_thread => {
            "empty the thread-local variable while the thread is attached, before it ends: its \
             destructor runs after the thread state is gone"
        }
        _ => refsan_rules::rule(rule).cure,
    }
}

fn when(phase: Phase) -> &'static str {
    match phase {
        Phase::Finalized => "after the interpreter was finalized",
        Phase::Running | Phase::Finalizing => "while the interpreter was finalizing",
    }
}

fn released(object: Option<&Object>) -> String {
    let reference = match object {
        Some(object) if !object.last_reference => "a reference",
        _ => "last reference",
    };
    match object.and_then(|object| object.type_name.as_deref()) {
        Some(name) => format!("{reference} to a `{name}` dropped"),
        None => format!("{reference} to an object of unknown type dropped"),
    }
}
