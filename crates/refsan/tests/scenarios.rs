//! The scenarios: one tiny extension for each situation, with its cured twin.

fn main() {
    let arguments = libtest_mimic::Arguments::from_args();
    let trials = refsan_testkit::scenario_trials(env!("CARGO_BIN_EXE_refsan").into(), true);
    libtest_mimic::run(&arguments, trials).exit();
}
