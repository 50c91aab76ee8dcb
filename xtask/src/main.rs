//! The one developer door: `cargo xtask <task>`.
#![forbid(unsafe_code)]

mod bench;
mod check;
mod command;
mod fuzz;
mod test;

use std::process::ExitCode;

use clap::Parser;

/// The tasks of a developer of refsan.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
enum Task {
    /// Formatting, lints, feature combinations and the rules of the source tree.
    Check,
    /// The checks and all tests; the network is needed once, to fill the cache.
    Test(test::Options),
    /// Measure what refsan costs, and print the table of the README.
    Bench(bench::Options),
    /// Feed hostile input to the readers.
    Fuzz(fuzz::Options),
}

fn main() -> ExitCode {
    let done = match Task::parse() {
        Task::Check => check::run(),
        Task::Test(options) => test::run(&options),
        Task::Bench(options) => bench::run(&options),
        Task::Fuzz(options) => fuzz::run(&options),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cargo xtask: {error}");
            ExitCode::FAILURE
        }
    }
}
