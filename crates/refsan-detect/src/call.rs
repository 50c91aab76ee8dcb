//! Calls without an attached thread state: RS101, RS102, RS201, RS202.

use refsan_model::{Phase, RuleId, Severity};
use refsan_trace::Trace;
use refsan_trace::layout::{event_kind, slot_flags};

use crate::detection::{Detection, events_of, phase};

pub(crate) fn detect(trace: &Trace) -> Vec<Detection> {
    let mut detections = Vec::new();
    for site in trace
        .sites
        .iter()
        .filter(|site| site.kind == event_kind::CALL)
    {
        let slot = trace.slot(site.module, site.slot);
        let has = |flag| slot.is_some_and(|slot| slot.flags & flag != 0);
        let phase = phase(site.life);
        let rule = rule(has(slot_flags::RELEASE), phase);
        // A function that only reads damages nothing by itself; a release always may.
        let harmless = has(slot_flags::READS_ONLY) && !has(slot_flags::RELEASE);
        detections.push(Detection {
            rule,
            severity: if harmless {
                Severity::Warning
            } else {
                Severity::Error
            },
            phase,
            count: site.count,
            module: site.module,
            slot: site.slot,
            call: slot.map(|slot| slot.name.clone()).unwrap_or_default(),
            return_address: site.return_address,
            outcome: None,
            events: events_of(trace, site),
        });
    }
    detections
}

/// While the interpreter is being torn down it still exists: what is wrong then is the missing
/// thread state, not the missing interpreter.
fn rule(is_release: bool, phase: Phase) -> RuleId {
    match (is_release, phase) {
        (true, Phase::Finalized) => RuleId::ReleaseAfterFinalization,
        (true, _) => RuleId::ReleaseWithoutThreadState,
        (false, Phase::Finalized) => RuleId::CallAfterFinalization,
        (false, _) => RuleId::CallWithoutThreadState,
    }
}
