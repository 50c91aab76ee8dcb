//! The field: real wheels with real faults, and clean programs. Needs the network once.

fn main() {
    let arguments = libtest_mimic::Arguments::from_args();
    let trials = refsan_testkit::field_trials(env!("CARGO_BIN_EXE_refsan").into());
    libtest_mimic::run(&arguments, trials).exit();
}
