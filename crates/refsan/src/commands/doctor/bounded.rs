//! Runs a command whose behaviour is not known, within a time limit and with its output kept.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

/// How often is looked whether the command has ended.
const STEP: Duration = Duration::from_millis(5);

/// What a command did.
#[derive(Debug)]
pub struct Outcome {
    /// How it ended; `None` when it was ended since it ran for too long.
    pub status: Option<ExitStatus>,
    /// What it wrote to standard output.
    pub stdout: String,
    /// What it wrote to standard error.
    pub stderr: String,
}

impl Outcome {
    /// Whether it ended in time and with status 0.
    pub fn succeeded(&self) -> bool {
        self.status.is_some_and(|status| status.success())
    }

    /// The line on standard error that says what went wrong: the first, or the last of a Python
    /// traceback. Without control characters, and cut.
    pub fn complaint(&self) -> Option<String> {
        let mut lines = self.stderr.lines().filter(|line| !line.trim().is_empty());
        let first = lines.next()?;
        let line = if first.starts_with("Traceback") {
            lines.next_back()?
        } else {
            first
        };
        let clean = line.chars().filter(|character| !character.is_control());
        Some(clean.take(200).collect())
    }
}

/// Runs `command` without input, for at most `limit`; whatever it leaves behind is ended.
///
/// # Errors
/// When it cannot be started, or its output cannot be kept.
pub fn run(command: &mut Command, limit: Duration) -> io::Result<Outcome> {
    // Files: a grandchild that keeps a pipe open would keep its reader waiting.
    let mut stdout = tempfile::tempfile().map_err(no_place)?;
    let mut stderr = tempfile::tempfile().map_err(no_place)?;
    command
        .stdin(Stdio::null())
        .stdout(stdout.try_clone()?)
        .stderr(stderr.try_clone()?)
        .process_group(0);
    let deadline = Instant::now() + limit;
    let mut child = command.spawn()?;
    let group = Pid::from_child(&child);
    let status = loop {
        match child.try_wait()? {
            Some(status) => break Some(status),
            None if Instant::now() >= deadline => break None,
            None => std::thread::sleep(STEP),
        }
    };
    if status.is_none() {
        let _ = kill_process_group(group, Signal::KILL);
        child.wait()?;
    }
    Ok(Outcome {
        status,
        stdout: text(&mut stdout)?,
        stderr: text(&mut stderr)?,
    })
}

/// Not to be taken for a missing command.
fn no_place(error: io::Error) -> io::Error {
    let directory = std::env::temp_dir();
    io::Error::other(format!(
        "there is no place for its output: {error}; set TMPDIR to a directory that can be written, not {}",
        directory.display()
    ))
}

fn text(file: &mut File) -> io::Result<String> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, limit: Duration) -> Outcome {
        run(Command::new("sh").args(["-c", script]), limit).unwrap()
    }

    #[test]
    fn status_and_output_are_kept() {
        let outcome = shell(
            "echo out; echo first >&2; echo last >&2; exit 7",
            Duration::from_secs(20),
        );
        assert_eq!(outcome.status.and_then(|status| status.code()), Some(7));
        assert_eq!(outcome.stdout, "out\n");
        assert_eq!(outcome.complaint().as_deref(), Some("first"));
        assert!(!outcome.succeeded());
    }

    #[test]
    fn a_traceback_complains_in_its_last_line() {
        let outcome = shell(
            "echo 'Traceback (most recent call last):' >&2; echo '  File' >&2; echo 'KeyError: 1' >&2",
            Duration::from_secs(20),
        );
        assert_eq!(outcome.complaint().as_deref(), Some("KeyError: 1"));
        assert!(outcome.succeeded());
    }

    #[test]
    fn a_command_that_hangs_is_ended() {
        let outcome = shell("echo begun; sleep 60", Duration::from_millis(300));
        assert!(outcome.status.is_none() && !outcome.succeeded());
        assert_eq!(outcome.stdout, "begun\n");
    }
}
