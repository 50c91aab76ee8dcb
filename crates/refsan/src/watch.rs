//! Starts the program under the runtime and waits for it.

use std::os::fd::AsFd;
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::origin::WithOrigin;

use crate::args::ProgramArguments;
use crate::error::CommandError;
use crate::program::Program;
use crate::runtime_library;
use crate::traces::TraceDirectory;

/// How long a program may take to end after SIGTERM.
const GRACE: Duration = Duration::from_secs(5);

/// How a program ended.
#[derive(Debug)]
pub struct Ended {
    /// Its status.
    pub status: ExitStatus,
    /// It was ended since it ran for too long.
    pub timed_out: bool,
}

/// Runs the program to its end.
///
/// # Errors
/// When it cannot be started, or the runtime cannot be placed.
pub fn watch(
    program: &Program,
    arguments: &ProgramArguments,
    traces: &TraceDirectory,
) -> Result<Ended, CommandError> {
    let library = runtime_library::place(traces.path())?;
    let mut command = Command::new(&program.path);
    command
        .args(&program.arguments)
        .env("_REFSAN_CHANNEL", traces.path());
    // In front of what is preloaded already: symbols are not interposed, so the order is no matter
    // to the others.
    let mut preload = library.into_os_string();
    if let Some(others) = std::env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
        preload.push(":");
        preload.push(others);
    }
    command.env("LD_PRELOAD", preload);
    if arguments.halt_on_error {
        let mut options = std::env::var_os("REFSAN_OPTIONS").unwrap_or_default();
        options.push(":halt_on_error=1");
        command.env("REFSAN_OPTIONS", options);
    }
    let signals =
        SignalsInfo::<WithOrigin>::new([SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2])
            .map_err(CommandError::Wait)?;
    let mut child = command.spawn().map_err(|source| CommandError::Start {
        path: program.path.clone(),
        source,
    })?;
    let pid = Pid::from_child(&child);
    hand_on(signals, pid);
    let timed_out = match arguments.timeout {
        Some(limit) => end_after(pid, limit).map_err(CommandError::Wait)?,
        None => false,
    };
    let status = child.wait().map_err(CommandError::Wait)?;
    Ok(Ended { status, timed_out })
}

/// Hands signals on to the program. A terminal sends its signals to the program by itself.
fn hand_on(mut signals: SignalsInfo<WithOrigin>, pid: Pid) {
    std::thread::spawn(move || {
        for origin in signals.forever() {
            let signal = Signal::from_named_raw(origin.signal);
            if let (Some(signal), Some(_)) = (signal, origin.process) {
                let _ = kill_process(pid, signal);
            }
        }
    });
}

/// Waits for the program to end, and ends it after `limit`. Returns whether it had to.
fn end_after(pid: Pid, limit: Duration) -> std::io::Result<bool> {
    let process = pidfd_open(pid, PidfdFlags::empty())?;
    let ends_within = |limit: Duration| -> std::io::Result<bool> {
        let end = Instant::now() + limit;
        loop {
            let rest = end.saturating_duration_since(Instant::now());
            let rest = Timespec::try_from(rest).map_err(std::io::Error::other)?;
            let mut waiting = [PollFd::from_borrowed_fd(process.as_fd(), PollFlags::IN)];
            match poll(&mut waiting, Some(&rest)) {
                Ok(ready) => return Ok(ready > 0),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    };
    if ends_within(limit)? {
        return Ok(false);
    }
    let _ = kill_process(pid, Signal::TERM);
    if !ends_within(GRACE)? {
        let _ = kill_process(pid, Signal::KILL);
    }
    Ok(true)
}
