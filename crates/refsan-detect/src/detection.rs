//! One fault at one call site.

use refsan_model::{Phase, RuleId, Severity};
use refsan_trace::layout::life;
use refsan_trace::{Event, Site, Trace};

/// What became of a thread that asked for a thread state too late.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// It asked; what happened then was not seen.
    Asked,
    /// It was still waiting when the process ended.
    NeverReturned,
    /// The interpreter ended it inside the call.
    ThreadEnded,
}

/// A fault, before its addresses have names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Detection {
    /// The rule that is broken.
    pub rule: RuleId,
    /// How bad it is.
    pub severity: Severity,
    /// The interpreter's phase.
    pub phase: Phase,
    /// How often, from 1.
    pub count: u64,
    /// The module that made the call.
    pub module: u32,
    /// The slot through which it was made.
    pub slot: u32,
    /// The C-API function.
    pub call: String,
    /// Where the call returns to.
    pub return_address: u64,
    /// For [`RuleId::AttachDuringFinalization`], the worst that was seen.
    pub outcome: Option<Outcome>,
    /// The recorded events, oldest first; empty when their records were lost.
    pub events: Vec<Event>,
}

/// The phase that a life code stands for.
pub(crate) fn phase(code: u8) -> Phase {
    match code {
        life::FINALIZED => Phase::Finalized,
        life::FINALIZING => Phase::Finalizing,
        _ => Phase::Running,
    }
}

/// What was recorded of a site, oldest first.
pub(crate) fn events_of(trace: &Trace, site: &Site) -> Vec<Event> {
    let identity = (
        site.module,
        site.slot,
        site.return_address,
        site.kind,
        site.life,
    );
    let is_of_site = |event: &&Event| {
        (
            event.module,
            event.slot,
            event.return_address,
            event.kind,
            event.life,
        ) == identity
    };
    trace.events.iter().filter(is_of_site).cloned().collect()
}
