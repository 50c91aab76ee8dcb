//! The function that made a call.
//!
//! The innermost frame is where the call returns to. When the call was a jump at the end of a
//! function, that is somebody else: rather no name than a wrong one.

use refsan_detect::Detection;
use refsan_model::Frame;
use refsan_symbols::{CallSite, Symbolizer, TailCaller};
use refsan_trace::Trace;

/// The function, and what is to be said about it.
pub fn caller(
    symbolizer: &mut Symbolizer,
    trace: &Trace,
    detection: &Detection,
    frames: &[Frame],
) -> (Option<String>, Option<String>) {
    let module = trace.module(detection.module);
    let Some((module, slot)) = module.zip(trace.slot(detection.module, detection.slot)) else {
        return (None, None);
    };
    match symbolizer.call_site(trace, module, slot, detection.return_address) {
        CallSite::Direct => direct(symbolizer, trace, detection, frames),
        CallSite::Tail { candidates, more } => tail(&candidates, more),
        _ => (None, Some(unknown(frames))),
    }
}

fn direct(
    symbolizer: &mut Symbolizer,
    trace: &Trace,
    detection: &Detection,
    frames: &[Frame],
) -> (Option<String>, Option<String>) {
    // The function that has an address of its own, not one that was inlined into it: it is what a
    // stripped build and a disassembler show, too.
    let frame = frames.iter().find(|frame| !frame.own && !frame.inlined);
    if let Some(name) = frame.and_then(|frame| frame.function.clone()) {
        return (Some(name), None);
    }
    let address = detection.return_address.wrapping_sub(1);
    let covering = symbolizer.function_covering(trace, address);
    let bias = trace
        .module(detection.module)
        .map_or(0, |module| module.bias);
    let note = covering.map(|range| format!("function at +{:#x}", range.start.wrapping_sub(bias)));
    (None, note)
}

fn tail(candidates: &[TailCaller], more: bool) -> (Option<String>, Option<String>) {
    let place = |one: &TailCaller| match &one.name {
        Some(name) => name.clone(),
        None => format!("the function at +{:#x}", one.offset),
    };
    match candidates {
        [only] if !more => {
            let note = match only.name {
                Some(_) => "the call is its last act, a jump".to_owned(),
                None => format!("the call is the last act of {}, a jump", place(only)),
            };
            (only.name.clone(), Some(note))
        }
        // Out-of-line copies of one inline function.
        [first, rest @ ..]
            if !more && first.name.is_some() && rest.iter().all(|one| one.name == first.name) =>
        {
            (
                first.name.clone(),
                Some("the call is its last act, a jump".to_owned()),
            )
        }
        _ => {
            let mut names = candidates.iter().map(place).collect::<Vec<_>>().join(", ");
            if more {
                names.push_str(" or another");
            }
            (
                None,
                Some(format!(
                    "the call is the last act, a jump, of one of: {names}"
                )),
            )
        }
    }
}

fn unknown(frames: &[Frame]) -> String {
    let outer = frames.iter().find(|frame| !frame.own);
    let name = outer.and_then(|frame| frame.function.as_deref().or(frame.module.as_deref()));
    format!(
        "the call was made in or below {}",
        name.unwrap_or("unknown code")
    )
}
