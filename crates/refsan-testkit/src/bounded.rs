//! Runs a command within a time limit: the programs under test deadlock and crash by intent, and
//! neither may stop the tests or leave processes behind.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};
use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// It exited with this status.
    Exited(i32),
    /// This signal ended it.
    Signalled(i32),
    /// It was killed when its time was over.
    TimedOut,
}

impl Ending {
    /// The status as a shell tells it (128 + n for signal n); none for a command that was killed
    /// when its time was over.
    pub fn status(self) -> Option<i32> {
        match self {
            Ending::Exited(status) => Some(status),
            Ending::Signalled(signal) => Some(128 + signal),
            Ending::TimedOut => None,
        }
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ending::Exited(status) => write!(formatter, "exit status {status}"),
            Ending::Signalled(signal) => write!(formatter, "signal {signal}"),
            Ending::TimedOut => write!(formatter, "killed: its time was over"),
        }
    }
}

/// What a command did.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// How it ended.
    pub ending: Ending,
    /// What it wrote to standard output.
    pub stdout: String,
    /// What it wrote to standard error.
    pub stderr: String,
    /// How long it took.
    pub elapsed: Duration,
}

impl Outcome {
    /// Whether it exited with status 0.
    pub fn succeeded(&self) -> bool {
        self.ending == Ending::Exited(0)
    }

    /// The last non-empty lines of both outputs, for a message.
    pub fn last_lines(&self, count: usize) -> String {
        let lines: Vec<&str> = self
            .stdout
            .lines()
            .chain(self.stderr.lines())
            .filter(|l| !l.trim().is_empty())
            .collect();
        lines[lines.len().saturating_sub(count)..].join("\n")
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{} after {:.1} s",
            self.ending,
            self.elapsed.as_secs_f64()
        )?;
        write!(
            formatter,
            "\n--- standard output\n{}",
            self.stdout.trim_end()
        )?;
        write!(
            formatter,
            "\n--- standard error\n{}",
            self.stderr.trim_end()
        )
    }
}

/// Runs `command` in its own process group, with no standard input, for at most `limit`. Whatever
/// is left of the group is killed when the command ends or its time is over.
///
/// # Errors
/// The command cannot be started, or its output cannot be kept.
pub fn run_bounded(command: &mut Command, limit: Duration) -> io::Result<Outcome> {
    // Files, not pipes: a grandchild that keeps a pipe open would keep its reader waiting.
    let mut stdout = tempfile::tempfile()?;
    let mut stderr = tempfile::tempfile()?;
    command
        .stdin(Stdio::null())
        .stdout(stdout.try_clone()?)
        .stderr(stderr.try_clone()?)
        .process_group(0);
    let started = Instant::now();
    let mut child = command.spawn()?;
    let process = Pid::from_child(&child);
    let in_time = ends_within(process, started + limit);
    // Before the child is reaped: until then its number, and so the group's, cannot be reused.
    let _ = kill_process_group(process, Signal::KILL);
    let status = child.wait()?;
    let elapsed = started.elapsed();
    let ending = if in_time? {
        ending(status)
    } else {
        Ending::TimedOut
    };
    Ok(Outcome {
        ending,
        stdout: text(&mut stdout)?,
        stderr: text(&mut stderr)?,
        elapsed,
    })
}

fn ends_within(process: Pid, deadline: Instant) -> io::Result<bool> {
    let descriptor = pidfd_open(process, PidfdFlags::empty())?;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let timeout = Timespec {
            tv_sec: left.as_secs().try_into().unwrap_or(i64::MAX),
            tv_nsec: left.subsec_nanos().into(),
        };
        match poll(
            &mut [PollFd::new(&descriptor, PollFlags::IN)],
            Some(&timeout),
        ) {
            Ok(0) => return Ok(false),
            Ok(_) => return Ok(true),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

fn ending(status: ExitStatus) -> Ending {
    match (status.code(), status.signal()) {
        (Some(code), _) => Ending::Exited(code),
        (None, Some(signal)) => Ending::Signalled(signal),
        // A reaped process either exited or was ended by a signal.
        (None, None) => Ending::Exited(-1),
    }
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
        run_bounded(Command::new("sh").args(["-c", script]), limit).unwrap()
    }

    #[test]
    fn output_status_and_signal_are_told_apart() {
        let outcome = shell("echo out; echo err >&2; exit 7", Duration::from_secs(10));
        assert_eq!(outcome.ending, Ending::Exited(7));
        assert_eq!(
            (outcome.stdout.as_str(), outcome.stderr.as_str()),
            ("out\n", "err\n")
        );
        let killed = shell("kill -SEGV $$", Duration::from_secs(10));
        assert_eq!(killed.ending, Ending::Signalled(11));
        assert_eq!(killed.ending.status(), Some(139));
    }

    #[test]
    fn a_command_that_hangs_is_killed_with_its_children() {
        let started = Instant::now();
        let outcome = shell("sleep 100 & echo $!; wait", Duration::from_millis(300));
        assert_eq!(outcome.ending, Ending::TimedOut);
        assert!(started.elapsed() < Duration::from_secs(20));
        let grandchild: i32 = outcome.stdout.trim().parse().unwrap();
        assert!(is_gone(grandchild), "process {grandchild} is still there");
    }

    #[test]
    fn a_child_left_behind_is_killed_and_does_not_delay() {
        let started = Instant::now();
        let outcome = shell("sleep 100 & echo $!", Duration::from_secs(50));
        assert_eq!(outcome.ending, Ending::Exited(0));
        assert!(started.elapsed() < Duration::from_secs(20));
        assert!(is_gone(outcome.stdout.trim().parse().unwrap()));
    }

    // Gone, or dead and waiting for whoever adopted it.
    fn is_gone(process: i32) -> bool {
        (0..100).any(|_| {
            let stat = std::fs::read_to_string(format!("/proc/{process}/stat"));
            let alive = stat.is_ok_and(|stat| !stat.contains(") Z "));
            if alive {
                std::thread::sleep(Duration::from_millis(20));
            }
            !alive
        })
    }

    #[test]
    fn a_command_that_does_not_exist_is_an_error() {
        assert!(run_bounded(&mut Command::new("/no/such/program"), Duration::ZERO).is_err());
    }
}
