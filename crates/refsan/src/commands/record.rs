//! `refsan record`: watch a program and keep its traces.

use std::path::Path;

use crate::args::Record;
use crate::error::CommandError;
use crate::exit_code;
use crate::program::{Program, obstacle};
use crate::traces::TraceDirectory;
use crate::watch::watch;

/// Runs the verb. The status is the program's own, or 3 when nothing was recorded.
///
/// # Errors
/// When the program cannot be started.
pub fn run(arguments: &Record) -> Result<u8, CommandError> {
    let program = Program::of(&arguments.program)?;
    let directory = arguments
        .program
        .trace_dir
        .as_deref()
        .unwrap_or_else(|| Path::new("."));
    let traces = TraceDirectory::new(Some(directory))?;
    let ended = watch(&program, &arguments.program, &traces)?;
    let new = traces.new_traces();
    if new.is_empty() {
        let reason = obstacle(&program.path).unwrap_or("no CPython interpreter was seen in it");
        eprintln!("refsan: not in force, nothing was recorded: {reason}");
        return Ok(exit_code::NOT_IN_FORCE);
    }
    if !arguments.program.quiet {
        for trace in &new {
            eprintln!("refsan: recorded {}", trace.display());
        }
    }
    Ok(exit_code::of_program(ended.status))
}
