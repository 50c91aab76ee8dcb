//! The process itself: its trace file, its forks and its end.

use alloc::ffi::CString;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU32, Ordering};

use refsan_trace::layout::{Header, python_build, set_text, watch_state};
use refsan_trace::{CreateError, Writer};
use rustix::fs::{Mode, OFlags};

use crate::interpreter::Interpreter;
use crate::life::Life;
use crate::{errno, hooks, message, modules, state, thread};

/// Monotonic time in nanoseconds.
pub fn now() -> u64 {
    time(libc::CLOCK_MONOTONIC)
}

/// The same, cheaper and only good to a few milliseconds.
pub fn now_coarse() -> u64 {
    time(libc::CLOCK_MONOTONIC_COARSE)
}

fn time(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: writes to `time`.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

fn pid() -> u32 {
    rustix::process::getpid()
        .as_raw_nonzero()
        .get()
        .cast_unsigned()
}

/// The path of the executable; empty where the system does not tell.
pub fn executable() -> String {
    let mut path = [0_u8; 4096];
    // SAFETY: writes at most as much as there is room for.
    let length = unsafe {
        libc::readlink(
            c"/proc/self/exe".as_ptr(),
            path.as_mut_ptr().cast(),
            path.len(),
        )
    };
    let path = usize::try_from(length)
        .ok()
        .and_then(|length| path.get(..length));
    String::from_utf8_lossy(path.unwrap_or_default()).into_owned()
}

/// The base name of the executable.
pub fn program_name() -> String {
    let path = executable();
    String::from(path.rsplit('/').next().unwrap_or(&path))
}

fn read_file(path: &str, limit: usize) -> Vec<u8> {
    let mut bytes = alloc::vec![0; limit];
    let file = rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
    let length = file
        .and_then(|file| rustix::io::read(&file, &mut bytes[..]))
        .unwrap_or(0);
    bytes.truncate(length);
    bytes
}

fn fill(header: &mut Header, forked: bool) {
    header.pid = pid();
    OWNER.store(header.pid, Ordering::Relaxed);
    header.parent_pid = rustix::process::getppid()
        .map_or(0, |parent| parent.as_raw_nonzero().get().cast_unsigned());
    header.forked = forked.into();
    header.started_monotonic = now();
    header.started_realtime = time(libc::CLOCK_REALTIME);
    set_text(
        &mut header.tool_version,
        env!("CARGO_PKG_VERSION").as_bytes(),
    );
    set_text(&mut header.executable, executable().as_bytes());
    let arguments = read_file("/proc/self/cmdline", header.arguments.len());
    header.arguments.fill(0);
    if let Some(place) = header.arguments.get_mut(..arguments.len()) {
        place.copy_from_slice(&arguments);
    }
}

/// Makes the trace of this process. `None`, with a word on standard error, when it cannot be made.
pub fn new_trace(interpreter: Option<&Interpreter>, refused: Option<&str>) -> Option<Writer> {
    let result = create(|path| {
        Writer::create(path, |header| {
            fill(header, false);
            header.watch_state = if refused.is_some() {
                watch_state::NOT_IN_FORCE
            } else {
                watch_state::IN_FORCE
            };
            set_text(&mut header.reason, refused.unwrap_or_default().as_bytes());
            if let Some(interpreter) = interpreter {
                header.python_version = interpreter.version.hex();
                let flag = |set, bit| if set { bit } else { 0 };
                header.python_build = flag(
                    interpreter.version.is_free_threaded(),
                    python_build::FREE_THREADED,
                ) | flag(interpreter.is_static, python_build::STATIC)
                    | flag(interpreter.loaded_late, python_build::LOADED_LATE);
            }
        })
    });
    if let Err(reason) = &result {
        complain(reason);
    }
    result.ok()
}

fn complain(reason: &CreateError) {
    // The run that this process belongs to is over and its directory gone.
    if matches!(reason, CreateError::Open(rustix::io::Errno::NOENT)) {
        return;
    }
    let directory = state::state().map(|state| state.options.directory.to_string_lossy());
    let directory = directory.unwrap_or_default();
    let why = match reason {
        CreateError::Open(errno) => format!("cannot make a file ({errno})"),
        CreateError::Space(errno) => format!("no room on the disk ({errno})"),
        CreateError::Map(errno) => format!("cannot map a file ({errno})"),
        CreateError::PathTooLong => "the path is too long".to_string(),
    };
    message::print(format_args!(
        "refsan: process {} is not watched: {directory}: {why}; name another directory with REFSAN_TRACE_DIR\n",
        pid()
    ));
}

/// Finds a free name: a process that replaces itself by `exec` keeps its id.
fn create<T>(
    mut make: impl FnMut(&core::ffi::CStr) -> Result<T, CreateError>,
) -> Result<T, CreateError> {
    let directory = state::state().map(|state| state.options.directory.to_string_lossy());
    let directory = directory.as_deref().unwrap_or(".").to_string();
    let program = program_name();
    let mut number = 0;
    loop {
        let suffix = if number == 0 {
            String::new()
        } else {
            format!(".{number}")
        };
        let path = format!("{directory}/refsan-{program}.{}{suffix}.rstrace", pid());
        let path = CString::new(path).map_err(|_| CreateError::PathTooLong)?;
        match make(&path) {
            Err(CreateError::Open(rustix::io::Errno::EXIST)) if number < 1000 => number += 1,
            result => return result,
        }
    }
}

/// Takes part in forks and in the end of the process.
pub fn register() {
    extern "C" fn before_fork() {
        if let Some(state) = state::state() {
            state.modules.take();
        }
    }
    extern "C" fn after_fork() {
        if let Some(state) = state::state() {
            state.modules.release();
        }
    }
    extern "C" fn in_child() {
        let _errno = errno::KeepErrno::new();
        after_fork();
        thread::forked();
        if let Some(state) = state::state() {
            state.modules.with(modules::Modules::forked);
        }
        // SAFETY: the child has one thread, and it is here.
        let Some(watched) = (unsafe { state::watched_mut() }) else {
            return;
        };
        // SAFETY: as above.
        // Nothing is said of a failure: descriptor 2 may be any file of the program's by now.
        let _ = create(|path| unsafe {
            watched
                .writer
                .become_child(path, |header| fill(header, true))
        });
    }
    // SAFETY: the functions live as long as the process.
    unsafe {
        libc::pthread_atfork(Some(before_fork), Some(after_fork), Some(in_child));
        libc::atexit(at_end);
    }
}

static ENDED: AtomicU32 = AtomicU32::new(0);
/// The process that the trace belongs to.
static OWNER: AtomicU32 = AtomicU32::new(0);

/// Runs after the exit handlers of everything that was loaded later.
extern "C" fn at_end() {
    let Some(watched) = state::watched() else {
        return;
    };
    let _errno = errno::KeepErrno::new();
    // A child that was made behind the C library's back still maps its parent's trace.
    let is_owner = OWNER.load(Ordering::Relaxed) == pid();
    if !is_owner || ENDED.swap(1, Ordering::Relaxed) == 1 {
        return;
    }
    let life = Life::of(&watched.interpreter);
    if matches!(life, Life::Finalizing | Life::Finalized) {
        let own = thread::current().tid();
        watched.writer.for_each_attaching(|entry| {
            if entry.tid != own {
                hooks::attach::never_returned(watched, entry, life);
            }
        });
    }
    watched.writer.saw_end(now());
}
