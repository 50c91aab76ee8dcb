//! Runs one program of the demo, bare or under refsan, and tells what happened.

use std::path::Path;
use std::process::{Command, ExitStatus};
use std::time::Duration;

use refsan_model::Report;
use rustix::process::Signal;
use std::os::unix::process::ExitStatusExt;

use super::bounded::{self, Outcome};
use crate::analysis::analyse;
use crate::error::CommandError;
use crate::traces;

/// The extension ends itself by SIGALRM before that.
const LIMIT: Duration = Duration::from_secs(60);

/// Runs a program bare.
///
/// # Errors
/// When it cannot be started.
pub fn bare(python: &Path, program: &Path) -> Result<Outcome, CommandError> {
    let mut command = Command::new(python);
    python_arguments(&mut command, program);
    run(&mut command)
}

/// Runs a program by `refsan run`, and reads the traces that it wrote.
///
/// # Errors
/// When it cannot be started.
pub fn watched(
    python: &Path,
    program: &Path,
    trace_directory: &Path,
) -> Result<(Outcome, Report), CommandError> {
    let refsan = std::env::current_exe()
        .map_err(|error| CommandError::Demo(format!("refsan cannot find itself: {error}")))?;
    let mut command = Command::new(refsan);
    for (name, _) in std::env::vars_os() {
        // What is set for the user's own runs is not meant for this one.
        let name = name.to_string_lossy().into_owned();
        if name.starts_with("REFSAN_") && name != "REFSAN_CACHE_DIR" {
            command.env_remove(name);
        }
    }
    command
        .args(["run", "--format", "concise", "--trace-dir"])
        .arg(trace_directory)
        .arg("--")
        .arg(python);
    python_arguments(&mut command, program);
    let outcome = run(&mut command)?;
    let read = traces::read_all(&traces::list(trace_directory));
    let (report, _warnings) = analyse(&read.traces);
    Ok((outcome, report))
}

/// Only what the demo shows: no variable and no package of the user changes it.
fn python_arguments(command: &mut Command, program: &Path) {
    command.args(["-E", "-s", "-B"]).arg(program);
}

fn run(command: &mut Command) -> Result<Outcome, CommandError> {
    let name = command.get_program().to_string_lossy().into_owned();
    bounded::run(command, LIMIT)
        .map_err(|error| CommandError::Demo(format!("cannot start {name}: {error}")))
}

/// How a program ended, in words.
pub fn ending(status: Option<ExitStatus>) -> String {
    let Some(status) = status else {
        return "was ended since it ran for too long".to_owned();
    };
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit status {code}"),
        (None, Some(number)) => format!("died by {}", signal_name(number)),
        (None, None) => "ended in an unknown way".to_owned(),
    }
}

/// Whether it crashed, as native code with these faults does.
pub fn crashed(status: Option<ExitStatus>) -> bool {
    let signal = status.and_then(|status| status.signal());
    [Signal::SEGV, Signal::ABORT, Signal::BUS]
        .iter()
        .any(|crash| signal == Some(crash.as_raw()))
}

fn signal_name(number: i32) -> String {
    let known = [
        (Signal::SEGV, "SIGSEGV"),
        (Signal::ABORT, "SIGABRT"),
        (Signal::BUS, "SIGBUS"),
        (Signal::ALARM, "SIGALRM: it hung"),
        (Signal::KILL, "SIGKILL"),
    ];
    known
        .iter()
        .find(|(signal, _)| signal.as_raw() == number)
        .map_or_else(
            || format!("signal {number}"),
            |(_, name)| (*name).to_owned(),
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings_are_told_in_words() {
        let exited = Some(ExitStatus::from_raw(3 << 8));
        let killed = Some(ExitStatus::from_raw(11));
        assert_eq!(ending(exited), "exit status 3");
        assert_eq!(ending(killed), "died by SIGSEGV");
        assert!(crashed(killed) && !crashed(exited) && !crashed(None));
    }
}
