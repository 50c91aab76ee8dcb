//! One JSON object a line: every finding, then the coverage. A reader that sees no coverage line
//! has a cut file.

use std::io::{self, Write};

use refsan_model::{Coverage, Finding, Report};
use serde::Serialize;

use crate::prune::without_own_frames;

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
enum Line<'a> {
    Finding(&'a Finding),
    Coverage {
        schema_version: u32,
        tool_version: &'a str,
        #[serde(flatten)]
        coverage: &'a Coverage,
    },
}

pub(crate) fn render(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let report = &without_own_frames(report);
    let findings = report.findings.iter().map(Line::Finding);
    let coverage = Line::Coverage {
        schema_version: report.schema_version,
        tool_version: &report.tool_version,
        coverage: &report.coverage,
    };
    for line in findings.chain([coverage]) {
        serde_json::to_writer(&mut *out, &line)?;
        out.write_all(b"\n")?;
    }
    Ok(())
}
