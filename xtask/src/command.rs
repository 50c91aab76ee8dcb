//! Runs the tools that a task is made of.

use std::process::{Command, ExitStatus};

use refsan_testkit::source_root;

/// Why a task failed.
#[derive(Debug, thiserror::Error)]
pub enum TaskError {
    /// A tool could not be started.
    #[error("cannot start `{command}`: {source}; is it installed?")]
    Start {
        /// The command line.
        command: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// A tool failed, and has said why.
    #[error("`{command}` failed: {status}")]
    Failed {
        /// The command line.
        command: String,
        /// How it ended.
        status: ExitStatus,
    },
    /// Anything else, in words.
    #[error("{0}")]
    Other(String),
}

/// Runs cargo with these words in the root of the source tree, and shows what it says.
pub fn cargo(words: &[&str]) -> Result<(), TaskError> {
    run(tool("cargo").args(words))
}

/// A tool of the Rust toolchain that the source tree, or the caller's `+name`, asks for.
pub fn tool(program: &str) -> Command {
    let mut command = Command::new(program);
    // Set by the cargo that started this program; they would overrule `+nightly`.
    for name in ["CARGO", "RUSTUP_TOOLCHAIN"] {
        command.env_remove(name);
    }
    command
}

/// Runs a command in the root of the source tree, and shows what it says.
pub fn run(command: &mut Command) -> Result<(), TaskError> {
    let line = line(command);
    eprintln!("+ {line}");
    let status = command.current_dir(source_root()).status();
    match status {
        Err(source) => Err(TaskError::Start {
            command: line,
            source,
        }),
        Ok(status) if !status.success() => Err(TaskError::Failed {
            command: line,
            status,
        }),
        Ok(_) => Ok(()),
    }
}

/// The command as one would type it.
fn line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
    words.join(" ")
}
