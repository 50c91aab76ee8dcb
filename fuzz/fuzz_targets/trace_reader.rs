//! The reader of traces, and the detector behind it, on bytes that anybody may have made.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use refsan_trace::Trace;

fuzz_target!(|input: &[u8]| {
    let bytes = refsan_fuzz::trace::from_input(input);
    if let Ok(trace) = Trace::parse(Path::new("fuzz.rstrace"), &bytes) {
        for event in &trace.events {
            trace.module_at(event.return_address);
        }
        refsan_detect::detect(&trace);
    }
});
