//! The field cases as trials: a fault that refsan names must be reported, every other program
//! must run as it does by itself, and a correct one must not be accused.

use crate::bounded::Outcome;
use crate::cache::Cache;
use crate::field::{self, Case, Runs};
use crate::program::Program;
use crate::report::Report;
use crate::source_root;
use crate::trial::{Completed, failed_trial, failure, skipped};
use crate::watch::{Watched, run_bare, run_watched};
use libtest_mimic::{Completion, Failed, Trial};
use regex::Regex;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

/// The scripts set an alarm of 50 s at most themselves.
const LIMIT: Duration = Duration::from_secs(120);

/// How often a program that is not always the same by itself is compared.
const ATTEMPTS: usize = 3;

/// One trial for each case, interpreter and set of arguments. `refsan` is the command to test.
/// A missing interpreter is a skip; an environment that cannot be made is a failure, since the
/// wheels are known to exist.
pub fn field_trials(refsan: PathBuf) -> Vec<Trial> {
    let root = source_root().join("field");
    let mut trials = Vec::new();
    match field::cases(&root) {
        Ok(cases) => {
            for case in cases {
                match case {
                    Ok(case) => trials.extend(trials_of_case(&case, &refsan)),
                    Err(error) => trials.push(failed_trial("field/cases", error)),
                }
            }
        }
        Err(error) => trials.push(failed_trial("field/cases", error)),
    }
    match field::clean(&root) {
        Ok(programs) => {
            for program in programs {
                match program {
                    Ok(runs) => trials.extend(trials_of(&runs, "clean", &refsan, judge_clean)),
                    Err(error) => trials.push(failed_trial("field/clean", error)),
                }
            }
        }
        Err(error) => trials.push(failed_trial("field/clean", error)),
    }
    trials
}

fn trials_of_case(case: &Case, refsan: &Path) -> Vec<Trial> {
    if case.kind.is_reported() {
        let expected = case.clone();
        return trials_of(&case.runs, "cases", refsan, move |refsan, program| {
            judge_fault(&expected, refsan, program)
        });
    }
    trials_of(&case.runs, "cases", refsan, judge_unchanged)
}

fn trials_of(
    runs: &Runs,
    folder: &str,
    refsan: &Path,
    judge: impl Fn(&Path, &Program) -> Result<(), Failed> + Clone + Send + 'static,
) -> Vec<Trial> {
    let mut trials = Vec::new();
    for version in &runs.python {
        for arguments in &runs.args {
            let words = arguments
                .iter()
                .map(|argument| format!(" {argument}"))
                .collect::<String>();
            let name = format!("{folder}/{}{words} [{version}]", runs.id);
            let (runs, version, arguments) = (runs.clone(), version.clone(), arguments.clone());
            let (refsan, judge) = (refsan.to_path_buf(), judge.clone());
            trials.push(Trial::ignorable_test(name.clone(), move || -> Completed {
                let Some(interpreter) = field::interpreter_for(&version) else {
                    return skipped(&name, format!("no CPython {version}, nor one like it"));
                };
                let program = runs.program(&Cache::open()?, interpreter, &arguments)?;
                judge(&refsan, &program)?;
                Ok(Completion::Completed)
            }));
        }
    }
    trials
}

fn judge_fault(case: &Case, refsan: &Path, program: &Program) -> Result<(), Failed> {
    let watched = run_watched(refsan, program, LIMIT)?;
    let verdict = match &watched.report {
        Ok(report) => judge_report(case, report),
        Err(reason) => Err(reason.clone()),
    };
    verdict.map_err(|reason| {
        let reason = format!(
            "{reason}\nexpected: {}\nby itself: {}",
            case.expected, case.observed
        );
        failure(&reason, program, None, Some(&watched))
    })
}

fn judge_report(case: &Case, report: &Report) -> Result<(), String> {
    let (rules, module) = (&case.rules_any, &case.module);
    let is_expected = |finding: crate::Finding<'_>| {
        rules.iter().any(|rule| rule == finding.rule()) && finding.mentions(module)
    };
    if report.findings().any(is_expected) {
        return Ok(());
    }
    let found = report.rules();
    Err(format!(
        "expected a finding of {rules:?} that mentions `{module}`; rules found: {found:?}"
    ))
}

/// The program must end and print as by itself; when it varies by itself, as in one of a few runs.
fn judge_unchanged(refsan: &Path, program: &Program) -> Result<(), Failed> {
    let mut bare: Vec<Outcome> = Vec::new();
    let mut watched: Vec<Watched> = Vec::new();
    for _ in 0..ATTEMPTS {
        bare.push(run_bare(program, LIMIT)?);
        watched.push(run_watched(refsan, program, LIMIT)?);
        let alike = |watched: &Watched| {
            bare.iter()
                .any(|bare| watched.behaves_like(bare, without_measured_times))
        };
        if watched.iter().any(alike) {
            return Ok(());
        }
    }
    let reason = format!("in {ATTEMPTS} runs it never behaved under refsan as by itself");
    Err(failure(&reason, program, bare.last(), watched.last()))
}

fn judge_clean(refsan: &Path, program: &Program) -> Result<(), Failed> {
    let bare = run_bare(program, LIMIT)?;
    if !bare.succeeded() {
        return Err(failure(
            "a clean program must succeed by itself",
            program,
            Some(&bare),
            None,
        ));
    }
    let watched = run_watched(refsan, program, LIMIT)?;
    let verdict = match &watched.report {
        Ok(report) if report.findings().next().is_some() => {
            Err("a clean program was accused".into())
        }
        Ok(_) if !watched.behaves_like(&bare, str::to_string) => {
            Err("a clean program does not behave under refsan as by itself".into())
        }
        Ok(_) => Ok(()),
        Err(reason) => Err(reason.clone()),
    };
    verdict.map_err(|reason| failure(&reason, program, Some(&bare), Some(&watched)))
}

/// Some programs print how long something took.
fn without_measured_times(text: &str) -> String {
    static TIME: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\d+\.\d+ s\b").ok());
    match &*TIME {
        Some(time) => time.replace_all(text, "# s").into_owned(),
        None => text.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measured_times_are_left_out_of_comparisons_and_versions_are_not() {
        let line = "run took 3.01 s; other thread stood still for 3.01 s";
        assert_eq!(
            without_measured_times(line),
            "run took # s; other thread stood still for # s"
        );
        assert_eq!(
            without_measured_times("done numpy 2.1.0"),
            "done numpy 2.1.0"
        );
    }

    #[test]
    fn a_finding_must_have_the_rule_and_mention_the_module() {
        let root = source_root().join("field");
        let cases = field::cases(&root).unwrap().into_iter().map(Result::unwrap);
        let case = cases
            .into_iter()
            .find(|case| case.runs.id.starts_with("04-"))
            .unwrap();
        let judged = |rule: &str, module: &str| {
            let text = format!(r#"{{"findings": [{{"rule": "{rule}", "module": "{module}"}}]}}"#);
            judge_report(&case, &Report::parse(&text).unwrap())
        };
        assert_eq!(judged("RS102", "osqp/_osqp.so"), Ok(()));
        assert!(
            judged("RS101", "osqp/_osqp.so")
                .unwrap_err()
                .contains("RS101")
        );
        assert!(judged("RS102", "numpy.so").is_err());
    }
}
