//! One line a finding, for logs and `grep`, and one line of summary.

use std::io::{self, Write};

use refsan_model::Report;

use crate::Options;
use crate::clean::{clean, name};
use crate::distinct::distinct;
use crate::number::{grouped, plural};
use crate::paint::{Ink, Paint, severity};
use crate::summary::summary;

/// The longest function name, in characters.
const NAME: usize = 120;

pub(crate) fn render(report: &Report, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    let paint = Paint {
        color: options.color,
    };
    let findings = distinct(&report.findings, options.dedup);
    let shown = options
        .max_findings
        .unwrap_or(usize::MAX)
        .min(findings.len());

    for entry in &findings[..shown] {
        let finding = entry.finding;
        let function = finding
            .function
            .as_deref()
            .map_or("??".to_owned(), |f| name(f, NAME));
        writeln!(
            out,
            "{}: {} {} {}",
            paint.of(Ink::Strong, &clean(&finding.module_path)),
            paint.of(
                Ink::Severity(finding.severity),
                &format!("{}[{}]", severity(finding.severity), finding.rule)
            ),
            clean(&finding.message),
            paint.of(
                Ink::Faint,
                &format!(
                    "({function}, ×{}) [{}]",
                    grouped(entry.count),
                    finding.fingerprint
                )
            ),
        )?;
    }
    let hidden = (findings.len() - shown) as u64;
    if hidden > 0 {
        writeln!(
            out,
            "… and {} (--max-findings shows more)",
            plural(hidden, "more finding")
        )?;
    }
    writeln!(out, "SUMMARY: {}", summary(report, &findings))
}
