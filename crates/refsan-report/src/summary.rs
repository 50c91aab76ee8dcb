//! The one line that says how the run went, and on what that rests.

use refsan_model::{ModuleStatus, Report, Severity};

use crate::distinct::Distinct;
use crate::number::plural;

/// Findings by severity, and what was watched. Silence never reads like a clean bill: without
/// hooks in force no claim is made, and losses are named.
pub(crate) fn summary(report: &Report, findings: &[Distinct<'_>]) -> String {
    let coverage = &report.coverage;
    if !coverage.in_force() && findings.is_empty() {
        return "nothing was watched, so no claim is made".to_owned();
    }
    let mut parts = vec![verdict(findings)];

    let watched = coverage.processes.iter().filter(|process| process.in_force);
    let modules = watched
        .clone()
        .flat_map(|process| &process.modules)
        .filter(|module| module.status == ModuleStatus::Watched)
        .count();
    let calls = watched
        .clone()
        .map(|process| process.calls)
        .fold(0, u64::saturating_add);
    parts.push(format!(
        "{} of {} in {} watched",
        plural(calls, "call"),
        plural(modules as u64, "module"),
        plural(watched.count() as u64, "process"),
    ));

    let processes = || coverage.processes.iter();
    let dropped = processes()
        .map(|process| process.dropped)
        .fold(0, u64::saturating_add);
    if dropped > 0 {
        parts.push(format!("{} dropped", plural(dropped, "event")));
    }
    let blind = processes().filter(|process| !process.in_force).count() as u64;
    if blind > 0 {
        parts.push(format!("{} not watched", plural(blind, "process")));
    }
    let damaged = processes()
        .filter(|process| !process.damage.is_empty())
        .count() as u64;
    if damaged > 0 {
        parts.push(format!("{} damaged", plural(damaged, "trace")));
    }
    parts.join("; ")
}

fn verdict(findings: &[Distinct<'_>]) -> String {
    if findings.is_empty() {
        return "no findings".to_owned();
    }
    let times = findings
        .iter()
        .map(|entry| entry.count)
        .fold(0, u64::saturating_add);
    let kinds: Vec<String> = [
        (Severity::Error, "error"),
        (Severity::Warning, "warning"),
        (Severity::Note, "note"),
    ]
    .into_iter()
    .filter_map(|(severity, noun)| {
        let count = findings
            .iter()
            .filter(|entry| entry.finding.severity == severity)
            .count();
        (count > 0).then(|| plural(count as u64, noun))
    })
    .collect();
    format!(
        "{} ({}), seen {}",
        plural(findings.len() as u64, "finding"),
        kinds.join(", "),
        plural(times, "time"),
    )
}
