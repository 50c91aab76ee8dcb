//! `refsan demo`: both founding faults at work, each bare, under refsan, and cured.

mod fault;
mod trial;
mod workshop;

use std::io::{IsTerminal, Write};
use std::path::Path;

use refsan_model::{Finding, Report, StackKind};
use refsan_report::{Format, Options, Stacks};

use super::doctor::bounded;
use super::doctor::interpreter::{Interpreter, NoAnswer};
use crate::args::Demo;
use crate::error::CommandError;
use crate::exit_code;
use fault::{FAULTS, Fault};
use trial::{crashed, ending};
use workshop::{Variant, Workshop};

/// Writes a line; a reader that has gone away has seen enough.
macro_rules! say {
    ($($words:tt)*) => {{ let _ = writeln!(std::io::stdout(), $($words)*); }};
}

/// The demonstration did not go as it should.
const NOT_AS_SHOWN: u8 = 1;

/// Runs the verb.
///
/// # Errors
/// When something is missing that the demo needs.
pub fn run(arguments: &Demo) -> Result<u8, CommandError> {
    let interpreter = interpreter(arguments.python.as_deref().unwrap_or(Path::new("python3")))?;
    let workshop = Workshop::new()?;
    say!("refsan demo: a small C extension with two faults, on {interpreter}\n");
    let mut first_report = None;
    let mut wrong = Vec::new();
    for (number, fault) in (1..).zip(&FAULTS) {
        say!("{number}. {}", fault.title);
        for line in fault.story {
            say!("   {line}");
        }
        let report = show(fault, &interpreter.executable, &workshop, &mut wrong)?;
        first_report = first_report.or(Some(report));
        say!();
    }
    if let Some(report) = first_report {
        say!("The full report on the first fault:\n");
        print_report(&report);
    }
    if !wrong.is_empty() {
        for what in &wrong {
            eprintln!("refsan: the demo did not go as it should: {what}");
        }
        eprintln!("refsan: `refsan doctor` says what can be watched here");
        return Ok(NOT_AS_SHOWN);
    }
    say!("What next:");
    say!("  refsan run -- python3 YOUR_PROGRAM.py     watch a program of yours");
    say!(
        "  refsan rule {}                         what the finding means",
        FAULTS[0].rule
    );
    Ok(exit_code::CLEAN)
}

fn interpreter(python: &Path) -> Result<Interpreter, CommandError> {
    let missing = |error: NoAnswer| {
        CommandError::Demo(format!(
            "the demo needs a Python interpreter, CPython 3.8 to 3.15, but `{}` will not do: {error}; install one (Debian, Ubuntu: `apt install python3`, Fedora: `dnf install python3`), or name another with --python",
            python.display()
        ))
    };
    let interpreter = Interpreter::ask(python).map_err(missing)?;
    if !interpreter.is_known() {
        return Err(CommandError::Demo(format!(
            "the demo needs CPython 3.8 to 3.15, but `{}` is {interpreter}; name another with --python",
            python.display()
        )));
    }
    if interpreter.free_threaded {
        return Err(CommandError::Demo(format!(
            "the demo does not support free-threaded interpreters, whose objects have another layout than its extension is written for, and `{}` is {interpreter}; name another with --python",
            python.display()
        )));
    }
    Ok(interpreter)
}

/// Shows one fault; what does not go as it should is added to `wrong`. Returns the report of the
/// run under refsan.
fn show(
    fault: &Fault,
    python: &Path,
    workshop: &Workshop,
    wrong: &mut Vec<String>,
) -> Result<Report, CommandError> {
    let faulty = workshop.program(fault, Variant::Faulty);
    let cured = workshop.program(fault, Variant::Cured);
    let mut expect = |holds: bool, what: &str, outcome: &bounded::Outcome| {
        if !holds {
            let said = outcome.complaint().unwrap_or_default();
            wrong.push(format!(
                "{}, {what}; {} {said}",
                fault.title,
                ending(outcome.status)
            ));
        }
    };

    let outcome = trial::bare(python, &faulty)?;
    say!("   bare          {}", ending(outcome.status));
    expect(crashed(outcome.status), "bare: it should crash", &outcome);

    let (outcome, report) = trial::watched(python, &faulty, &workshop.trace_directory()?)?;
    let finding = report
        .findings
        .iter()
        .find(|finding| finding.rule == fault.rule);
    match finding {
        Some(finding) => say!("   under refsan  {}", told(finding)),
        None => say!("   under refsan  not named"),
    }
    let named = finding.is_some_and(|finding| finding.function.as_deref() == Some(fault.function));
    expect(
        named,
        &format!(
            "under refsan: {} in {} should be named",
            fault.rule, fault.function
        ),
        &outcome,
    );

    let outcome = trial::bare(python, &cured)?;
    expect(
        outcome.succeeded(),
        "cured and bare: it should succeed",
        &outcome,
    );
    let alone = ending(outcome.status);
    let (outcome, after) = trial::watched(python, &cured, &workshop.trace_directory()?)?;
    say!(
        "   cured         {alone}; under refsan {}, {}",
        ending(outcome.status),
        match after.findings.len() {
            0 if after.coverage.in_force() => "no finding".to_owned(),
            0 => "not watched".to_owned(),
            count => format!("{count} findings"),
        }
    );
    let clean = outcome.succeeded() && after.findings.is_empty() && after.coverage.in_force();
    expect(
        clean,
        "cured and under refsan: it should be watched and clean",
        &outcome,
    );
    Ok(report)
}

/// A finding on one line.
fn told(finding: &Finding) -> String {
    let place = finding
        .stacks
        .iter()
        .filter(|stack| stack.kind == StackKind::Native)
        .flat_map(|stack| &stack.frames)
        .find(|frame| frame.watched)
        .and_then(|frame| {
            Some(format!(
                ", {}:{}",
                frame.file.as_deref()?.rsplit('/').next()?,
                frame.line?
            ))
        });
    format!(
        "{} {}: in {}{}",
        finding.rule,
        finding.name,
        finding.function.as_deref().unwrap_or("an unknown function"),
        place.unwrap_or_default()
    )
}

fn print_report(report: &Report) {
    let out = std::io::stdout();
    let options = Options {
        color: out.is_terminal() && std::env::var_os("NO_COLOR").is_none(),
        stacks: Stacks::Short,
        ..Options::default()
    };
    let _ = refsan_report::render(report, Format::Full, &options, &mut out.lock());
    say!();
}
