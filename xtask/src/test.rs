//! `cargo xtask test`: all that CI asks of a change, or the part of it that needs no network.

use std::process::Command;

use crate::command::{TaskError, run as run_tool, tool};

/// What to test.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Only what needs no network and little time: what `cargo test --workspace` does by itself.
    #[arg(long)]
    quick: bool,
}

/// Tells the targets that need the network, or much time, to do all they can.
const TIER: (&str, &str) = ("REFSAN_TEST", "whole");

/// Runs the checks and then the tests. All tests are run before a failure is told.
pub fn run(options: &Options) -> Result<(), TaskError> {
    if !options.quick {
        crate::check::run()?;
    }
    run_tool(&mut command(options))
}

fn command(options: &Options) -> Command {
    let (name, whole) = TIER;
    let mut command = tool("cargo");
    command.args(["test", "--workspace", "--no-fail-fast"]);
    if options.quick {
        command.env_remove(name);
    } else {
        command.env(name, whole);
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;

    #[test]
    fn only_the_whole_suite_asks_for_the_network() {
        let tier = |quick| {
            let command = command(&Options { quick });
            let mut variables = command.get_envs();
            let found = variables.find(|(name, _)| *name == OsStr::new("REFSAN_TEST"));
            found.and_then(|(_, value)| value.map(OsStr::to_owned))
        };
        assert_eq!(tier(false).as_deref(), Some(OsStr::new("whole")));
        assert_eq!(tier(true), None);
    }
}
