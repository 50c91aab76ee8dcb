//! The scenarios: one tiny extension for each situation, with its cured twin.
//!
//! `cargo xtask test` runs all of them on every interpreter. By itself this target runs those that
//! need no network, on one interpreter.

use libtest_mimic::{Arguments, Trial};
use refsan_testkit::{Interpreter, scenario_trials};

fn main() {
    let arguments = Arguments::from_args();
    let whole = std::env::var_os("REFSAN_TEST").is_some_and(|tier| tier == "whole");
    let trials = scenario_trials(env!("CARGO_BIN_EXE_refsan").into(), whole);
    let trials = if whole { trials } else { quick(trials) };
    libtest_mimic::run(&arguments, trials).exit();
}

/// The trials of the newest interpreter that extensions can be built for.
fn quick(trials: Vec<Trial>) -> Vec<Trial> {
    let buildable = Interpreter::all()
        .iter()
        .filter(|one| !one.include.is_empty());
    let Some(newest) = buildable.max_by_key(|one| one.version.clone()) else {
        println!("skipped: no interpreter with headers was found");
        return Vec::new();
    };
    println!("scenarios that need no network, on {newest} only; `cargo xtask test` runs all");
    let of_newest = format!("[{newest}]");
    trials
        .into_iter()
        .filter(|trial| trial.name().ends_with(&of_newest))
        .collect()
}
