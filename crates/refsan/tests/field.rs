//! The field: real wheels with real faults, and clean programs. Needs a package registry once, so
//! only `cargo xtask test` runs it.

use libtest_mimic::Arguments;

fn main() {
    let arguments = Arguments::from_args();
    let whole = std::env::var_os("REFSAN_TEST").is_some_and(|tier| tier == "whole");
    let trials = if whole {
        refsan_testkit::field_trials(env!("CARGO_BIN_EXE_refsan").into())
    } else {
        println!("skipped: real wheels come from a package registry; run `cargo xtask test`");
        Vec::new()
    };
    libtest_mimic::run(&arguments, trials).exit();
}
