//! `cargo xtask test`: the whole suite, or the part of it that needs no network.

use crate::command::{TaskError, cargo};

/// What to test.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Only what needs no network and no more than a minute or two: what `cargo test` does.
    #[arg(long)]
    quick: bool,
}

/// The targets that run real wheels and compile extensions. Plain `cargo test` leaves them out.
const THOROUGH: [&str; 2] = ["scenarios", "field"];

/// Runs the tests.
pub fn run(options: &Options) -> Result<(), TaskError> {
    cargo(&["test", "--workspace"])?;
    if options.quick {
        return Ok(());
    }
    for target in THOROUGH {
        cargo(&["test", "--release", "--package", "refsan", "--test", target])?;
    }
    Ok(())
}
