//! `refsan run`: watch a program, then report.

use refsan_model::Report;

use crate::analysis::analyse;
use crate::args::Run;
use crate::error::CommandError;
use crate::exit_code;
use crate::output::{Outputs, TextStream};
use crate::program::{Program, obstacle};
use crate::traces::{TraceDirectory, read_all};
use crate::watch::{Ended, watch};

/// Runs the verb.
///
/// # Errors
/// When the program cannot be started or the report cannot be written.
pub fn run(arguments: &Run) -> Result<u8, CommandError> {
    let outputs = Outputs::new(&arguments.output, TextStream::Stderr)?;
    let program = Program::of(&arguments.program)?;
    let traces = TraceDirectory::new(arguments.program.trace_dir.as_deref())?;
    let say = |text: String| {
        if !arguments.program.quiet {
            eprintln!("refsan: {text}");
        }
    };
    say(format!(
        "watching `{}`, traces in {}",
        program.shown(),
        traces.path().display()
    ));
    let ended = watch(&program, &arguments.program, &traces)?;
    if ended.timed_out {
        say("the program was ended: it ran longer than --timeout allows".to_owned());
    }
    let read = read_all(&traces.new_traces());
    let (report, warnings) = analyse(&read.traces);
    for problem in read.problems.iter().chain(&warnings) {
        eprintln!("refsan: {problem}");
    }
    let written = outputs.write(&report);
    say(last_line(&report, &program, &ended));
    if !report.findings.is_empty() || written.is_err() {
        say(format!(
            "traces kept in {}; refsan report shows them again",
            traces.path().display()
        ));
        traces.keep();
    }
    written?;
    Ok(status(arguments, &report, &ended))
}

fn status(arguments: &Run, report: &Report, ended: &Ended) -> u8 {
    let own = exit_code::of_program(ended.status);
    let counts = arguments
        .fail_on
        .severity()
        .is_some_and(|severity| report.has(severity));
    if !report.coverage.in_force() {
        exit_code::NOT_IN_FORCE
    } else if own != 0 || !counts || arguments.exit_zero {
        own
    } else {
        arguments.error_exitcode
    }
}

/// The line that closes a run.
fn last_line(report: &Report, program: &Program, ended: &Ended) -> String {
    let own = exit_code::of_program(ended.status);
    if !report.coverage.in_force() {
        let reasons: Vec<&str> = report
            .coverage
            .processes
            .iter()
            .filter_map(|process| process.reason.as_deref())
            .collect();
        let reason = if !reasons.is_empty() {
            reasons.join("; ")
        } else if let Some(obstacle) = obstacle(&program.path) {
            format!("{}: {obstacle}", program.path.display())
        } else {
            "no CPython interpreter with exported symbols was seen in it or in its children"
                .to_owned()
        };
        return format!(
            "not in force, nothing is claimed: {reason} (`{}` ended with status {own}); `refsan doctor` says what can be watched here",
            program.shown()
        );
    }
    let watched = report
        .coverage
        .processes
        .iter()
        .filter(|process| process.in_force);
    let (mut processes, mut modules, mut calls) = (0, 0, 0);
    for process in watched {
        processes += 1;
        modules += process
            .modules
            .iter()
            .filter(|module| module.reason.is_none())
            .count();
        calls += process.calls;
    }
    let findings = match report.findings.len() {
        0 => "no finding".to_owned(),
        1 => "1 finding".to_owned(),
        count => format!("{count} findings"),
    };
    let plural = |count: usize| if count == 1 { "" } else { "es" };
    format!(
        "{findings}; {processes} process{} watched, {modules} modules, {calls} calls; the program ended with status {own}",
        plural(processes)
    )
}
