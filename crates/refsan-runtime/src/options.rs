//! What the environment asks for: `REFSAN_OPTIONS`, `key=value` pairs separated by colons.

use alloc::ffi::CString;
use core::ffi::CStr;

use crate::message;

/// Where the trace goes when the command started the process. Private: set by the command.
const CHANNEL: &CStr = c"_REFSAN_CHANNEL";
/// Where the trace goes otherwise.
const TRACE_DIRECTORY: &CStr = c"REFSAN_TRACE_DIR";
const OPTIONS: &CStr = c"REFSAN_OPTIONS";

/// The options of a watched process.
pub struct Options {
    /// The directory for traces.
    pub directory: CString,
    /// Faults of one call site that are recorded with stacks; the rest is counted.
    pub samples: u64,
    /// Bytes of stack that are kept of each.
    pub stack_bytes: usize,
    /// Whether Python stacks are recorded.
    pub python_stacks: bool,
    /// Whether the process is ended by SIGABRT at the first fault.
    pub halt_on_error: bool,
}

/// One line of the table that `help=1` prints.
struct Described {
    key: &'static str,
    default: &'static str,
    meaning: &'static str,
}

const TABLE: &[Described] = &[
    Described {
        key: "samples",
        default: "3",
        meaning: "faults of one call site that keep their stacks",
    },
    Described {
        key: "stack_kib",
        default: "64",
        meaning: "KiB of stack kept of each, 4 to 1024",
    },
    Described {
        key: "python_stacks",
        default: "1",
        meaning: "record Python stacks",
    },
    Described {
        key: "halt_on_error",
        default: "0",
        meaning: "end the process by SIGABRT at the first fault",
    },
    Described {
        key: "help",
        default: "0",
        meaning: "print this table",
    },
];

impl Options {
    /// Reads the environment. What it does not understand it says and leaves at its default.
    pub fn read() -> Options {
        let directory = environment(CHANNEL)
            .or_else(|| environment(TRACE_DIRECTORY))
            .unwrap_or(c".");
        let mut options = Options {
            directory: directory.into(),
            samples: 3,
            stack_bytes: 64 * 1024,
            python_stacks: true,
            halt_on_error: false,
        };
        let given = environment(OPTIONS)
            .and_then(|text| text.to_str().ok())
            .unwrap_or_default();
        for pair in given.split(':').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, "1"));
            if !options.set(key, value) {
                message::print(format_args!(
                    "refsan: REFSAN_OPTIONS: cannot use `{pair}`; REFSAN_OPTIONS=help=1 lists the options\n"
                ));
            }
        }
        options
    }

    fn set(&mut self, key: &str, value: &str) -> bool {
        let number = value.parse::<usize>().ok();
        match (key, number) {
            ("samples", Some(samples)) => self.samples = samples as u64,
            ("stack_kib", Some(size @ 4..=1024)) => self.stack_bytes = size * 1024,
            ("python_stacks", Some(flag @ 0..=1)) => self.python_stacks = flag == 1,
            ("halt_on_error", Some(flag @ 0..=1)) => self.halt_on_error = flag == 1,
            ("help", Some(0)) => {}
            ("help", Some(1)) => print_table(),
            _ => return false,
        }
        true
    }
}

fn print_table() {
    for line in TABLE {
        let Described {
            key,
            default,
            meaning,
        } = line;
        message::print(format_args!("refsan: {key}={default:<6} {meaning}\n"));
    }
}

/// A variable of the environment, if it is set and not empty.
fn environment(name: &CStr) -> Option<&'static CStr> {
    // SAFETY: the name ends with a zero byte; the constructor runs before the program could change
    // its environment, and what is kept of the value is copied at once.
    let value = unsafe { libc::getenv(name.as_ptr()) };
    // SAFETY: not null, so it is a string.
    let value = (!value.is_null()).then(|| unsafe { CStr::from_ptr(value) })?;
    (!value.is_empty()).then_some(value)
}
