//! From an instruction to its source line: three formats of tables.
//!
//! An instruction is named by its byte offset in the code, negative before the first one. None means
//! that the instruction has no line, or that the table ends before it.

mod increments;
mod locations;
mod ranges;
#[cfg(test)]
mod tests;

use crate::layout::LineFormat;
use increments::increments;
use locations::locations;
use ranges::ranges;

/// The line, from 1, of the instruction at byte `offset`.
pub(crate) fn line(
    format: LineFormat,
    table: impl Iterator<Item = u8>,
    first_line: i32,
    offset: i64,
) -> Option<u32> {
    let first = i64::from(first_line);
    let line = if offset < 0 {
        Some(first)
    } else {
        match format {
            LineFormat::Increments => increments(table, first, offset),
            LineFormat::Ranges => ranges(table, first, offset),
            LineFormat::Locations => locations(table, first, offset),
        }
    };
    line.and_then(|line| u32::try_from(line).ok())
        .filter(|line| *line > 0)
}
