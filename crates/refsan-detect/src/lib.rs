//! From what was recorded to what is wrong.
//!
//! Pure: a trace in, detections out; no clock, no file, no symbol. A detection still speaks in
//! addresses; naming them is the next step's work.
#![forbid(unsafe_code)]

mod attach;
mod call;
mod detection;

pub use detection::{Detection, Outcome};

use refsan_trace::Trace;

/// Everything that is wrong in a trace, in the order in which it was first seen.
pub fn detect(trace: &Trace) -> Vec<Detection> {
    let mut detections = call::detect(trace);
    detections.extend(attach::detect(trace));
    detections.sort_by_key(|detection| {
        detection
            .events
            .first()
            .map_or(u64::MAX, |event| event.sequence)
    });
    detections
}
