//! What ends a command with status 2: each says what was expected, what was found, what to do.

use std::io;
use std::path::PathBuf;

use refsan_trace::TraceError;

/// Why a command cannot do its work.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// The command is not to be found.
    #[error("cannot find the command `{0}`: it is neither a path nor in a directory of PATH")]
    NoSuchCommand(String),
    /// The file cannot be executed.
    #[error("cannot start {}: {source}", path.display())]
    Start {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The directory for traces cannot be used.
    #[error("cannot write traces to {}: {source}; name another directory with --trace-dir", path.display())]
    TraceDirectory {
        /// The directory.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The library cannot be placed anywhere.
    #[error("cannot place the runtime library: {}; set REFSAN_CACHE_DIR to a directory that can be written and whose path has neither spaces nor colons", tried.join("; "))]
    RuntimeLibrary {
        /// Each place and why it did not do.
        tried: Vec<String>,
    },
    /// This build carries no library.
    #[error(
        "this refsan cannot run programs: there is no runtime for this platform (Linux on x86-64 only); traces from elsewhere can be read with `refsan report`"
    )]
    NoRuntime,
    /// A trace cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// A directory holds no trace.
    #[error("{} holds no trace: pass a file or a directory with files that end in .rstrace", .0.display())]
    NoTraces(PathBuf),
    /// An output file exists.
    #[error("{} exists already; --force overwrites it", .0.display())]
    Exists(PathBuf),
    /// An output cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Output {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// Waiting for the program failed.
    #[error("lost the program: {0}")]
    Wait(io::Error),
    /// The demonstration needs something.
    #[error("{0}")]
    Demo(String),
}
