//! Asks an interpreter what it is, by running it bare: a name does not tell.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::bounded;

/// One answer a line. Python 2 can run it too, to be told apart; a shell that is taken for Python
/// leaves at the first word, before it takes `import` for a command. The last answer says whether
/// the kernel lets a process read its own memory safely; without ctypes it is not known.
const QUESTIONS: &str = r#""exit"
import os, platform, sys, sysconfig
def safe_reads():
    try:
        from ctypes import CDLL, Structure, addressof, byref, c_size_t, c_void_p, create_string_buffer, get_errno
        class Span(Structure):
            _fields_ = [("start", c_void_p), ("length", c_size_t)]
        source, target = create_string_buffer(b"refsan"), create_string_buffer(6)
        spans = [Span(addressof(buffer), 6) for buffer in (target, source)]
        call = CDLL(None, use_errno=True).process_vm_readv
        done = call(os.getpid(), byref(spans[0]), 1, byref(spans[1]), 1, 0)
        return "yes" if done == 6 else os.strerror(get_errno())
    except Exception:
        return "unknown"
with open("/proc/self/maps") as maps:
    shared = "/libpython" in maps.read()
for answer in (
    "refsan",
    platform.python_implementation(),
    "%d.%d.%d" % tuple(sys.version_info[:3]),
    sys.executable,
    "shared" if shared else "static",
    "free-threaded" if sysconfig.get_config_var("Py_GIL_DISABLED") else "default",
    safe_reads(),
):
    print(answer)
"#;

const LIMIT: Duration = Duration::from_secs(20);

/// What an interpreter says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interpreter {
    /// `CPython`, `PyPy`, …
    pub implementation: String,
    /// For example 3.11.7.
    pub version: String,
    /// Its own executable: the file asked may be a script that starts it.
    pub executable: PathBuf,
    /// Its code is in a shared libpython, not in the executable.
    pub shared: bool,
    /// It is a free-threaded build.
    pub free_threaded: bool,
    /// Whether memory can be read with a call that cannot fault.
    pub safe_reads: SafeReads,
}

/// Whether `process_vm_readv` works there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SafeReads {
    /// It does.
    Work,
    /// It does not, for this reason.
    Refused(String),
    /// The interpreter has no ctypes to try it with.
    NotTried,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum NoAnswer {
    /// It does not start.
    #[error("it cannot be started: {0}")]
    Start(#[from] std::io::Error),
    /// It does not end.
    #[error("it did not answer within {} s", LIMIT.as_secs())]
    TooLate,
    /// It answers something else.
    #[error("it does not answer like a Python interpreter{}", said.as_ref().map(|said| format!("; it says: {said}")).unwrap_or_default())]
    NoPython {
        /// What it complains of.
        said: Option<String>,
    },
}

impl Interpreter {
    /// Runs the interpreter at `path` (a bare name is looked for in `PATH`).
    ///
    /// # Errors
    /// When it gives no answer.
    pub fn ask(path: &Path) -> Result<Interpreter, NoAnswer> {
        // A relative path would be taken from the new working directory.
        let path = if path.components().count() > 1 {
            std::path::absolute(path)?
        } else {
            path.to_owned()
        };
        let mut command = Command::new(path);
        // Modules of the directory at hand must not get in the way.
        command.args(["-E", "-s", "-c", QUESTIONS]).current_dir("/");
        let outcome = bounded::run(&mut command, LIMIT)?;
        if outcome.status.is_none() {
            return Err(NoAnswer::TooLate);
        }
        parse(&outcome.stdout).ok_or_else(|| NoAnswer::NoPython {
            said: outcome.complaint(),
        })
    }

    /// The minor version of a CPython 3, 11 for 3.11.7.
    pub fn minor(&self) -> Option<u32> {
        let mut parts = self.version.split('.');
        (self.implementation == "CPython" && parts.next() == Some("3"))
            .then(|| parts.next()?.parse().ok())
            .flatten()
    }

    /// Whether refsan knows this version: CPython 3.8 to 3.15.
    pub fn is_known(&self) -> bool {
        self.minor().is_some_and(|minor| (8..=15).contains(&minor))
    }
}

impl std::fmt::Display for Interpreter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let linkage = if self.shared { "shared" } else { "static" };
        let threads = if self.free_threaded {
            ", free-threaded"
        } else {
            ""
        };
        write!(
            f,
            "{} {} ({linkage}{threads})",
            self.implementation, self.version
        )
    }
}

fn parse(answer: &str) -> Option<Interpreter> {
    let mut lines = answer.lines();
    if lines.next()? != "refsan" {
        return None;
    }
    Some(Interpreter {
        implementation: lines.next()?.to_owned(),
        version: lines.next()?.to_owned(),
        executable: lines.next()?.into(),
        shared: lines.next()? == "shared",
        free_threaded: lines.next()? == "free-threaded",
        safe_reads: match lines.next()? {
            "yes" => SafeReads::Work,
            "unknown" => SafeReads::NotTried,
            reason => SafeReads::Refused(reason.to_owned()),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_understood() {
        let text = "refsan\nCPython\n3.13.0\n/opt/python3\nshared\nfree-threaded\nEPERM\n";
        let one = parse(text).unwrap();
        assert_eq!(one.to_string(), "CPython 3.13.0 (shared, free-threaded)");
        assert_eq!(one.safe_reads, SafeReads::Refused("EPERM".to_owned()));
        assert!(one.is_known());
        let old = parse(&text.replace("3.13.0", "3.7.16")).unwrap();
        assert!(!old.is_known());
        let other = parse(&text.replace("CPython", "PyPy")).unwrap();
        assert!(!other.is_known());
    }

    #[test]
    fn what_is_no_answer_is_refused() {
        for text in ["", "hello\n", "refsan\nCPython\n3.13.0\n"] {
            assert_eq!(parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn a_program_that_is_no_python_says_so() {
        let error = Interpreter::ask(Path::new("/bin/echo"));
        assert!(matches!(error, Err(NoAnswer::NoPython { .. })), "{error:?}");
        let error = Interpreter::ask(Path::new("/bin/sh"));
        assert!(
            matches!(error, Err(NoAnswer::NoPython { said: None })),
            "{error:?}"
        );
        let error = Interpreter::ask(Path::new("/no/such/python"));
        assert!(matches!(error, Err(NoAnswer::Start(_))), "{error:?}");
    }
}
