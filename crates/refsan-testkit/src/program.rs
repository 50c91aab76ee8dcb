//! A program to run, bare or watched: its command line and what it adds to the environment.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::Command;

/// A command line with environment variables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// The executable and its arguments.
    pub command_line: Vec<OsString>,
    /// Variables set for it, beside the inherited ones.
    pub variables: Vec<(OsString, OsString)>,
}

impl Program {
    /// `executable` without arguments, and with bytecode files kept out of the source tree.
    pub fn new(executable: impl AsRef<OsStr>) -> Self {
        Self {
            command_line: vec![executable.as_ref().to_os_string()],
            variables: vec![("PYTHONDONTWRITEBYTECODE".into(), "1".into())],
        }
    }

    /// Adds an argument.
    #[must_use]
    pub fn argument(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.command_line.push(argument.as_ref().to_os_string());
        self
    }

    /// Sets a variable.
    #[must_use]
    pub fn variable(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.variables
            .push((name.into(), value.as_ref().to_os_string()));
        self
    }

    /// The command, started in `directory`, with `before` (a launcher and its options) put first.
    pub fn command(&self, before: &[OsString], directory: &Path) -> Command {
        let mut words = before.iter().chain(&self.command_line);
        let mut command = Command::new(words.next().map(OsString::as_os_str).unwrap_or_default());
        command.args(words).current_dir(directory);
        // What a developer has set for Python or refsan must not change what is tested.
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            let inherited = text.starts_with("PYTHON")
                || (text.starts_with("REFSAN_") && !text.starts_with("REFSAN_TEST_"));
            if inherited {
                command.env_remove(&name);
            }
        }
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_launcher_goes_first() {
        let program = Program::new("python3")
            .argument("drive.py")
            .variable("A", "1");
        let command = program.command(&["refsan".into(), "run".into()], Path::new("/"));
        assert_eq!(command.get_program(), "refsan");
        assert_eq!(
            command.get_args().collect::<Vec<_>>(),
            ["run", "python3", "drive.py"]
        );
        assert!(
            command
                .get_envs()
                .any(|(name, value)| name == "A" && value == Some("1".as_ref()))
        );
    }
}
