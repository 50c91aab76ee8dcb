//! `refsan report`: render traces again, without the program.

use std::path::PathBuf;

use crate::analysis::analyse;
use crate::args::Report;
use crate::error::CommandError;
use crate::exit_code;
use crate::output::{Outputs, TextStream};
use crate::traces::{self, read_all};

/// Runs the verb.
///
/// # Errors
/// When no trace can be read or the report cannot be written.
pub fn run(arguments: &Report) -> Result<u8, CommandError> {
    let outputs = Outputs::new(&arguments.output, TextStream::Stdout)?;
    let mut paths: Vec<PathBuf> = Vec::new();
    for path in &arguments.traces {
        if path.is_dir() {
            let inside = traces::list(path);
            if inside.is_empty() {
                return Err(CommandError::NoTraces(path.clone()));
            }
            paths.extend(inside);
        } else {
            paths.push(path.clone());
        }
    }
    let read = read_all(&paths);
    let (report, warnings) = analyse(&read.traces);
    for problem in read.problems.iter().chain(&warnings) {
        eprintln!("refsan: {problem}");
    }
    if read.traces.is_empty() {
        return Ok(exit_code::USAGE);
    }
    outputs.write(&report)?;
    let counts = arguments
        .fail_on
        .severity()
        .is_some_and(|severity| report.has(severity));
    Ok(match (read.problems.is_empty(), counts) {
        (false, _) => exit_code::USAGE,
        (true, true) => exit_code::FINDINGS,
        (true, false) => exit_code::CLEAN,
    })
}
