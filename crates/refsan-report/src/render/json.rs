//! The whole report as one JSON document; `schemas/finding-v1.json` describes it.

use std::io::{self, Write};

use refsan_model::Report;

use crate::prune::without_own_frames;

pub(crate) fn render(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, &without_own_frames(report))?;
    out.write_all(b"\n")
}
