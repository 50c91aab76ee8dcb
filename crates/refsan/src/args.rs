//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use refsan_model::{RuleId, Severity};
use refsan_report::{Format, Stacks};

/// A sanitizer for Python objects held by native code: names every object that native code
/// releases, and every C-API call that it makes, with no attached thread state (without the GIL)
/// or after finalization.
#[derive(Debug, Parser)]
#[command(name = "refsan", version, max_term_width = 100)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a program under the runtime, then report.
    Run(Run),
    /// Run a program and keep its traces, without a report.
    Record(Record),
    /// Report on traces.
    Report(Report),
    /// Explain a rule.
    Rule(Rule),
    /// Say what can be watched here, and why not.
    Doctor(Doctor),
    /// Show both founding faults at work: bare, under refsan, and cured.
    Demo(Demo),
}

/// `refsan run`
#[derive(Debug, Args)]
pub struct Run {
    /// What to run and how.
    #[command(flatten)]
    pub program: ProgramArguments,
    /// What to report and where.
    #[command(flatten)]
    pub output: OutputArguments,
    /// Findings of this severity and worse make the status 66 when the program succeeded.
    #[arg(long, value_enum, default_value_t = FailOn::Warning)]
    pub fail_on: FailOn,
    /// Never let findings change the status.
    #[arg(long)]
    pub exit_zero: bool,
    /// The status for findings although the program succeeded.
    #[arg(long, value_name = "N", default_value_t = crate::exit_code::FINDINGS_IN_SUCCESS)]
    pub error_exitcode: u8,
}

/// `refsan record`
#[derive(Debug, Args)]
pub struct Record {
    /// What to run and how.
    #[command(flatten)]
    pub program: ProgramArguments,
}

/// The program of `run` and `record`.
#[derive(Debug, Args)]
pub struct ProgramArguments {
    /// Run this module with the interpreter of the environment: `-m pytest tests/`.
    #[arg(short, value_name = "MODULE")]
    pub module: Option<OsString>,
    /// The program and its arguments.
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        required_unless_present = "module",
        value_name = "COMMAND"
    )]
    pub command: Vec<OsString>,
    /// Where the traces go [run: a temporary directory, kept when there are findings; record: here].
    #[arg(long, value_name = "DIR", env = "REFSAN_TRACE_DIR")]
    pub trace_dir: Option<PathBuf>,
    /// End the program after this many seconds: SIGTERM, and SIGKILL five seconds later.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub timeout: Option<Duration>,
    /// End a process by SIGABRT at its first fault.
    #[arg(long)]
    pub halt_on_error: bool,
    /// Say less on standard error.
    #[arg(short, long)]
    pub quiet: bool,
}

/// What `run` and `report` share.
#[derive(Debug, Args)]
pub struct OutputArguments {
    /// full, concise, json or jsonl; FORMAT=FILE writes to a file, and may be given several times
    /// [default: full on a terminal, concise otherwise].
    #[arg(long, value_name = "FORMAT[=FILE]", env = "REFSAN_FORMAT")]
    pub format: Vec<FormatTarget>,
    /// Where the report goes; `-` is standard output [run: text goes to standard error].
    #[arg(short, long, value_name = "FILE", env = "REFSAN_OUTPUT")]
    pub output: Option<PathBuf>,
    /// Overwrite output files.
    #[arg(long)]
    pub force: bool,
    /// How much of the stacks to show: short, full or off.
    #[arg(long, default_value = "short")]
    pub stacks: Stacks,
    /// Leave native stacks out.
    #[arg(long)]
    pub no_native: bool,
    /// Show at most this many findings.
    #[arg(long, value_name = "N")]
    pub max_findings: Option<usize>,
    /// Colours in text.
    #[arg(long, value_enum, default_value_t = Color::Auto)]
    pub color: Color,
}

/// `refsan report`
#[derive(Debug, Args)]
pub struct Report {
    /// Traces, or directories that hold them.
    #[arg(required = true, value_name = "TRACE")]
    pub traces: Vec<PathBuf>,
    /// What to report and where.
    #[command(flatten)]
    pub output: OutputArguments,
    /// Findings of this severity and worse make the status 1.
    #[arg(long, value_enum, default_value_t = FailOn::Warning)]
    pub fail_on: FailOn,
}

/// `refsan rule`
#[derive(Debug, Args)]
#[group(required = true)]
pub struct Rule {
    /// The rule's code or name.
    pub rule: Option<RuleId>,
    /// List all rules.
    #[arg(long)]
    pub all: bool,
}

/// `refsan doctor`
#[derive(Debug, Args)]
pub struct Doctor {
    /// Interpreters to look at [default: those that PATH names].
    pub interpreters: Vec<PathBuf>,
}

/// `refsan demo`
#[derive(Debug, Args)]
pub struct Demo {
    /// The interpreter [default: python3].
    #[arg(long, value_name = "PYTHON")]
    pub python: Option<PathBuf>,
}

/// Which findings count as failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FailOn {
    /// Errors.
    Error,
    /// Warnings and errors.
    Warning,
    /// Any.
    Note,
    /// None.
    Never,
}

impl FailOn {
    /// The least severity that counts.
    pub fn severity(self) -> Option<Severity> {
        match self {
            FailOn::Error => Some(Severity::Error),
            FailOn::Warning => Some(Severity::Warning),
            FailOn::Note => Some(Severity::Note),
            FailOn::Never => None,
        }
    }
}

/// When to colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// A format, and the file for it if one is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormatTarget {
    /// The format.
    pub format: Format,
    /// The file.
    pub file: Option<PathBuf>,
}

impl FromStr for FormatTarget {
    type Err = refsan_report::UnknownFormat;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (format, file) = match text.split_once('=') {
            Some((format, file)) => (format, Some(PathBuf::from(file))),
            None => (text, None),
        };
        Ok(FormatTarget {
            format: format.parse()?,
            file,
        })
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text
        .parse()
        .map_err(|_| "expected a number of seconds".to_owned())?;
    Duration::try_from_secs_f64(seconds)
        .ok()
        .filter(|duration| !duration.is_zero())
        .ok_or_else(|| "expected a number of seconds above zero".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_well_formed() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn everything_behind_the_command_belongs_to_it() {
        let arguments = [
            "refsan",
            "run",
            "--timeout",
            "3",
            "--",
            "python3",
            "-c",
            "pass",
            "--timeout",
            "x",
        ];
        let Command::Run(run) = Arguments::try_parse_from(arguments).unwrap().command else {
            panic!()
        };
        assert_eq!(
            run.program.command,
            ["python3", "-c", "pass", "--timeout", "x"]
        );
        assert_eq!(run.program.timeout, Some(Duration::from_secs(3)));
    }

    #[test]
    fn a_module_can_be_run_directly() {
        let arguments = ["refsan", "run", "-m", "pytest", "tests/", "-x"];
        let Command::Run(run) = Arguments::try_parse_from(arguments).unwrap().command else {
            panic!()
        };
        assert_eq!(run.program.module.as_deref(), Some("pytest".as_ref()));
        assert_eq!(run.program.command, ["tests/", "-x"]);
    }

    #[test]
    fn a_missing_command_is_wrong_usage() {
        let error = Arguments::try_parse_from(["refsan", "run"]).unwrap_err();
        assert_eq!(error.exit_code(), 2);
    }
}
