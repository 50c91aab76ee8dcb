//! Runs a program once, in one of the ways that are compared.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use refsan_testkit::{Outcome, Program, Report, run_bounded};
use serde::Deserialize;

use crate::command::TaskError;

/// More than any run takes, under valgrind too.
const LIMIT: Duration = Duration::from_secs(600);

/// A way to run a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// By itself.
    Bare,
    /// `refsan run`.
    Refsan,
    /// `python -X dev`.
    DevelopmentMode,
    /// `valgrind`, memcheck, with `PYTHONMALLOC=malloc` as its users do.
    Valgrind,
}

/// One run.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// Seconds by the clock on the wall: of the work, or of the process for a row that only starts.
    pub wall: f64,
    /// Seconds of processor time of the work; `None` where the program does not say.
    pub processor: Option<f64>,
    /// Seconds of the whole, by the clock on the wall, that are not in `wall`.
    pub outside: f64,
    /// Calls that refsan watched.
    pub calls: Option<u64>,
}

/// What a program says of its work.
#[derive(Deserialize)]
struct Work {
    wall: f64,
    processor: f64,
}

/// What it takes to run programs in each way.
pub struct Launcher {
    refsan: PathBuf,
    scratch: tempfile::TempDir,
}

impl Launcher {
    /// Runs with this refsan.
    pub fn new(refsan: PathBuf) -> Result<Self, TaskError> {
        let scratch = tempfile::tempdir()
            .map_err(|error| TaskError::Other(format!("no scratch directory: {error}")))?;
        Ok(Launcher { refsan, scratch })
    }

    /// Whether valgrind is there.
    pub fn has_valgrind(&self) -> bool {
        let mut command = Command::new("valgrind");
        run_bounded(command.arg("--version"), LIMIT).is_ok_and(|outcome| outcome.succeeded())
    }

    /// Runs the program.
    pub fn sample(&self, program: &Program, way: Way) -> Result<Sample, TaskError> {
        let report = self.scratch.path().join("report.json");
        let mut program = program.clone();
        let before: Vec<OsString> = match way {
            Way::Bare => Vec::new(),
            Way::Refsan => {
                let words = ["run", "--quiet", "--force", "--format", "json", "-o"];
                let mut before = vec![self.refsan.clone().into_os_string()];
                before.extend(words.map(OsString::from));
                before.extend([report.clone().into_os_string(), "--".into()]);
                before
            }
            Way::DevelopmentMode => {
                program
                    .command_line
                    .splice(1..1, ["-X".into(), "dev".into()]);
                Vec::new()
            }
            Way::Valgrind => {
                program = program.variable("PYTHONMALLOC", "malloc");
                vec!["valgrind".into(), "--log-file=/dev/null".into()]
            }
        };
        let mut command = program.command(&before, self.scratch.path());
        let outcome = run_bounded(&mut command, LIMIT)
            .map_err(|error| TaskError::Other(format!("cannot start {command:?}: {error}")))?;
        if !outcome.succeeded() {
            let text = format!("{command:?} was to succeed: {outcome}");
            return Err(TaskError::Other(text));
        }
        let calls = match way {
            Way::Refsan => Some(watched_calls(&report)?),
            _ => None,
        };
        Ok(sample(&outcome, calls))
    }
}

fn sample(outcome: &Outcome, calls: Option<u64>) -> Sample {
    let whole = outcome.elapsed.as_secs_f64();
    match serde_json::from_str::<Work>(&outcome.stdout) {
        Ok(work) => Sample {
            wall: work.wall,
            processor: Some(work.processor),
            outside: whole - work.wall,
            calls,
        },
        Err(_) => Sample {
            wall: whole,
            processor: None,
            outside: 0.0,
            calls,
        },
    }
}

/// The calls in a report's coverage, which also proves that the hooks were in force.
fn watched_calls(report: &PathBuf) -> Result<u64, TaskError> {
    let text = std::fs::read_to_string(report)
        .map_err(|error| TaskError::Other(format!("refsan wrote no report: {error}")))?;
    let report = Report::parse(&text).map_err(TaskError::Other)?;
    let processes = report.value()["coverage"]["processes"].as_array();
    let calls = processes
        .into_iter()
        .flatten()
        .filter_map(|process| process["calls"].as_u64());
    Ok(calls.sum())
}

#[cfg(test)]
mod tests {
    use super::*;
    use refsan_testkit::Ending;

    fn outcome(stdout: &str) -> Outcome {
        Outcome {
            ending: Ending::Exited(0),
            stdout: stdout.into(),
            stderr: String::new(),
            elapsed: Duration::from_millis(2500),
        }
    }

    #[test]
    fn the_work_is_told_from_what_is_around_it() {
        let sample = sample(&outcome("{\"wall\": 2.0, \"processor\": 1.5}\n"), Some(7));
        assert_eq!((sample.wall, sample.processor), (2.0, Some(1.5)));
        assert!((sample.outside - 0.5).abs() < 1e-9);
        assert_eq!(sample.calls, Some(7));
    }

    #[test]
    fn a_program_that_only_starts_is_measured_as_a_whole() {
        let sample = sample(&outcome(""), None);
        assert_eq!((sample.wall, sample.processor), (2.5, None));
    }
}
