//! Renders a report: one renderer a file, all of them over the same [`Report`].
//!
//! Text for people (`full`, `concise`) neutralises what comes from the watched program; the
//! machine formats (`json`, `jsonl`) carry it unchanged and complete.
#![forbid(unsafe_code)]

mod clean;
mod distinct;
mod format;
mod number;
mod options;
mod paint;
mod prune;
mod render;
mod summary;

use std::io::{self, Write};

use refsan_model::Report;

pub use format::{Format, UnknownFormat};
pub use options::{Options, Stacks, UnknownStacks};

/// Writes `report` in `format`.
///
/// # Errors
/// Those of `out`; the report itself can always be rendered.
pub fn render(
    report: &Report,
    format: Format,
    options: &Options,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    // The renderers write in small pieces.
    let mut out = io::BufWriter::new(out);
    match format {
        Format::Full => render::full::render(report, options, &mut out),
        Format::Concise => render::concise::render(report, options, &mut out),
        Format::Json => render::json::render(report, &mut out),
        Format::Jsonl => render::jsonl::render(report, &mut out),
    }?;
    out.flush()
}
