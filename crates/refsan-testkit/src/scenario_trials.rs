//! The scenarios as trials: each is built for each interpreter, run bare to see that it does what
//! it claims, and run under refsan to see that the report says what it must and nothing else.

use crate::bounded::{Ending, Outcome};
use crate::cache::Cache;
use crate::debian;
use crate::interpreters::Interpreter;
use crate::report::{Finding, Report};
use crate::scenario::{Crashes, Scenario, scenarios};
use crate::source_root;
use crate::toolchain::BuildError;
use crate::trial::{Completed, failed_trial, failure, is_unsupported, skipped, skipped_trial};
use crate::watch::{Watched, run_bare, run_watched};
use libtest_mimic::{Completion, Failed, Trial};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The scripts set an alarm of 30 s themselves.
const LIMIT: Duration = Duration::from_secs(90);

/// One trial for each scenario and interpreter that it is for. `refsan` is the command to test;
/// without `network` the interpreters and scenarios that need a package registry are skipped.
pub fn scenario_trials(refsan: PathBuf, network: bool) -> Vec<Trial> {
    let cache = match Cache::open() {
        Ok(cache) => cache,
        Err(error) => return vec![failed_trial("scenarios", error)],
    };
    if network {
        debian::fetch_or_skip(&cache);
    }
    let all = match scenarios(&source_root().join("scenarios")) {
        Ok(all) => all,
        Err(error) => return vec![failed_trial("scenarios", error)],
    };
    let mut trials = Vec::new();
    for scenario in all {
        match scenario {
            Ok(scenario) => trials.extend(trials_of(&scenario, &refsan, &cache, network)),
            Err(error) => trials.push(failed_trial("scenarios", error)),
        }
    }
    trials
}

fn trials_of(scenario: &Scenario, refsan: &Path, cache: &Cache, network: bool) -> Vec<Trial> {
    if scenario.network && !network {
        let reason = "needs a package registry, and the network was ruled out";
        return vec![skipped_trial(scenario.name.clone(), reason.to_string())];
    }
    let fitting = Interpreter::all()
        .iter()
        .filter(|one| one.meets(&scenario.python));
    let trials: Vec<Trial> = fitting
        .map(|interpreter| {
            let name = format!("{} [{interpreter}]", scenario.name);
            let (scenario, refsan, cache) = (scenario.clone(), refsan.to_path_buf(), cache.clone());
            Trial::ignorable_test(name.clone(), move || {
                run(&scenario, interpreter, &name, &refsan, &cache)
            })
        })
        .collect();
    if trials.is_empty() {
        let reason = format!("no interpreter meets `{}`", scenario.python);
        return vec![skipped_trial(scenario.name.clone(), reason)];
    }
    trials
}

fn run(
    scenario: &Scenario,
    interpreter: &Interpreter,
    name: &str,
    refsan: &Path,
    cache: &Cache,
) -> Completed {
    let program = match scenario.prepare(cache, interpreter) {
        Ok(program) => program,
        Err(BuildError::Unsupported(reason)) => return skipped(name, reason),
        Err(BuildError::Environment(error)) if is_unsupported(&error) => {
            return skipped(name, error);
        }
        Err(error) => return Err(Failed::from(error)),
    };
    let bare = run_bare(&program, LIMIT)?;
    scenario
        .bare
        .judge(&bare)
        .map_err(|reason| failure(&reason, &program, Some(&bare), None))?;
    let watched = run_watched(refsan, &program, LIMIT)?;
    judge(scenario, &bare, &watched)
        .map_err(|reason| failure(&reason, &program, Some(&bare), Some(&watched)))?;
    Ok(Completion::Completed)
}

fn judge(scenario: &Scenario, bare: &Outcome, watched: &Watched) -> Result<(), String> {
    let report = watched.report.as_ref().map_err(Clone::clone)?;
    judge_report(scenario, report)?;
    // A fault may end a program now this way, now that way.
    let steady = scenario.expect.rules.is_empty() || scenario.bare.crashes == Crashes::Never;
    if steady && !watched.behaves_like(bare, str::to_string) {
        return Err("the program does not behave under refsan as it does by itself".to_string());
    }
    let faulty = !scenario.expect.rules.is_empty() && watched.program_status() == Some(0);
    if faulty && watched.outcome.ending != Ending::Exited(66) {
        let ending = watched.outcome.ending;
        return Err(format!(
            "findings in a program that succeeded: expected 66, found {ending}"
        ));
    }
    Ok(())
}

fn judge_report(scenario: &Scenario, report: &Report) -> Result<(), String> {
    let expected: BTreeSet<&str> = scenario.expect.rules.iter().map(String::as_str).collect();
    let found = report.rules();
    if expected != found {
        return Err(format!(
            "expected exactly the rules {expected:?}, found {found:?}"
        ));
    }
    if expected.is_empty() {
        return Ok(());
    }
    let misses: Vec<String> = report
        .findings()
        .filter_map(|finding| mismatch(scenario, finding))
        .collect();
    if misses.len() == report.findings().count() {
        return Err(format!("no finding is as expected: {}", misses.join("; ")));
    }
    Ok(())
}

/// The first way in which a finding is not as expected.
fn mismatch(scenario: &Scenario, finding: Finding<'_>) -> Option<String> {
    let expect = &scenario.expect;
    let text_differs = |what: &str, pattern: &Option<regex::Regex>, found: &str| {
        let pattern = pattern
            .as_ref()
            .filter(|pattern| !pattern.is_match(found))?;
        Some(format!(
            "expected the {what} to match `{pattern}`, found `{found}`"
        ))
    };
    text_differs("function", &expect.function, finding.function())
        .or_else(|| text_differs("object's type", &expect.object_type, finding.object_type()))
        .or_else(|| {
            let severity = expect
                .severity
                .as_ref()
                .filter(|one| *one != finding.severity())?;
            Some(format!(
                "expected severity `{severity}`, found `{}`",
                finding.severity()
            ))
        })
        .or_else(|| {
            let source = expect
                .source
                .as_ref()
                .filter(|source| !finding.names_file(source))?;
            Some(format!("expected the source file `{source}` to be named"))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scenario(expect: &str) -> Scenario {
        let root = tempfile::tempdir().unwrap();
        let description = format!(
            "title = \"t\"\ntoolchain = \"none\"\ndrive = \"drive.py\"\n\
             [bare]\ncrashes = false\n[expect]\n{expect}"
        );
        std::fs::write(root.path().join("scenario.toml"), description).unwrap();
        std::fs::write(root.path().join("drive.py"), "").unwrap();
        Scenario::read(root.path(), root.path()).unwrap()
    }

    fn judged(expect: &str, findings: &str) -> Result<(), String> {
        let report = Report::parse(&format!("{{\"findings\": [{findings}]}}")).unwrap();
        judge_report(&scenario(expect), &report)
    }

    const FINDING: &str = r#"{"rule": "RS101", "severity": "error", "function": "consume",
        "object": {"type": "list"}, "stacks": [{"frames": [{"file": "/x/extension.c"}]}]}"#;

    #[test]
    fn a_report_must_name_exactly_the_expected_rules() {
        assert!(judged("", "").is_ok());
        assert!(judged("", FINDING).unwrap_err().contains("RS101"));
        assert!(judged("rules = [\"RS101\"]", "").is_err());
        assert!(judged("rules = [\"RS101\"]", FINDING).is_ok());
        assert!(judged("rules = [\"RS101\", \"RS102\"]", FINDING).is_err());
    }

    #[test]
    fn one_finding_must_meet_all_expectations() {
        let expect = "rules = [\"RS101\"]\nfunction = \"^consume$\"\nobject_type = \"list\"\n\
                      source = \"extension.c\"\nseverity = \"error\"";
        assert_eq!(judged(expect, FINDING), Ok(()));
        let other = |from: &str, to: &str| judged(expect, &FINDING.replace(from, to)).unwrap_err();
        assert!(other("consume", "produce").contains("`produce`"));
        assert!(other("list", "dict").contains("`dict`"));
        assert!(other("error", "warning").contains("`warning`"));
        assert!(other("extension.c", "other.c").contains("`extension.c`"));
    }
}
