//! From traces to a report: detect, unwind, name, put into words.

mod caller;
mod coverage;
mod finding;
mod identity;
mod merge;
mod message;
mod timeline;

use refsan_detect::detect;
use refsan_model::{Coverage, Report, SCHEMA_VERSION};
use refsan_symbols::Symbolizer;
use refsan_trace::Trace;

/// The report on the traces of one run, and warnings about files that no longer fit.
pub fn analyse(traces: &[Trace]) -> (Report, Vec<String>) {
    let mut symbolizer = Symbolizer::new();
    let mut order: Vec<&Trace> = traces.iter().collect();
    order.sort_by_key(|trace| (trace.header.started_realtime, trace.header.pid));
    let mut findings = Vec::new();
    for trace in &order {
        for detection in detect(trace) {
            findings.push(finding::finding(&mut symbolizer, trace, &detection));
        }
    }
    let findings = merge::merge(findings);
    let processes = order
        .iter()
        .filter(|trace| !coverage::was_only_on_its_way_to_exec(trace))
        .map(|trace| coverage::process(&mut symbolizer, trace))
        .collect();
    let report = Report {
        schema_version: SCHEMA_VERSION,
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        findings,
        coverage: Coverage { processes },
    };
    let warnings = symbolizer
        .warnings()
        .iter()
        .map(ToString::to_string)
        .collect();
    (report, warnings)
}
