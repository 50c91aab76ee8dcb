//! The way of a process to the fault: script end → atexit callbacks → finalized → exit handlers.

use refsan_detect::{Detection, Outcome};
use refsan_model::{Phase, Step, Timeline};
use refsan_symbols::ExitStage;
use refsan_trace::Trace;

/// The steps that lie behind a fault, and the one in which it happened.
pub fn timeline(trace: &Trace, detection: &Detection, stage: Option<ExitStage>) -> Timeline {
    let step = |name: &str| Step {
        name: name.to_owned(),
        note: None,
        here: false,
    };
    let started_before = matches!(
        detection.outcome,
        Some(Outcome::ThreadEnded | Outcome::NeverReturned)
    ) && detection
        .events
        .iter()
        .all(|event| event.kind != refsan_trace::layout::event_kind::ATTACH);
    let mut steps = Vec::new();
    if started_before {
        steps.push(Step {
            note: Some(format!("{} entered", detection.call)),
            ..step("running")
        });
    }
    if detection.phase != Phase::Running {
        steps.extend([step("script end"), step("atexit callbacks")]);
    }
    let exit = stage.map(exit_step);
    match (detection.phase, exit) {
        (Phase::Running, None) => steps.push(step("running")),
        (Phase::Running, Some(name)) => steps.extend([step("running"), step(name)]),
        (Phase::Finalizing, None) => steps.push(step("finalizing")),
        (Phase::Finalizing, Some(name)) => steps.extend([step("finalizing"), step(name)]),
        (Phase::Finalized, exit) => {
            steps.push(step("finalized"));
            let on_the_way_out = stage.is_some_and(|stage| {
                !matches!(stage, ExitStage::ThreadExit | ExitStage::ThreadSpecificData)
            });
            if on_the_way_out {
                steps.push(step("exit handlers"));
            }
            steps.push(step(exit.unwrap_or("after finalization")));
        }
    }
    if let Some(last) = steps.last_mut() {
        last.here = true;
    }
    let event = detection.events.first();
    let elapsed = event.map_or(0, |event| {
        event.time.saturating_sub(trace.header.started_monotonic)
    });
    Timeline {
        phase: detection.phase,
        milliseconds: elapsed / 1_000_000,
        steps,
    }
}

fn exit_step(stage: ExitStage) -> &'static str {
    match stage {
        ExitStage::ThreadLocalDestructor => "thread-local destructors of the exiting thread",
        ExitStage::ExitHandler => "an exit handler or static destructor",
        ExitStage::LoaderFini => "library finalizers",
        ExitStage::ThreadExit => "thread-local destructors of an ending thread",
        ExitStage::ThreadSpecificData => "thread-specific data of an ending thread",
        _ => "exit",
    }
}
