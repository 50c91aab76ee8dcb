//! Whether one interpreter can be watched: asked, and tried.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use refsan_trace::Trace;
use refsan_trace::layout::{text, watch_state};

use super::bounded;
use super::check::Check;
use super::interpreter::{Interpreter, NoAnswer, SafeReads};
use crate::program::obstacle;
use crate::traces;

const LIMIT: Duration = Duration::from_secs(40);

/// What was found out about one interpreter.
#[derive(Debug)]
pub struct Examination {
    /// What to say.
    pub check: Check,
    /// It can be watched.
    pub can_be_watched: bool,
    /// Its own executable with symbolic links resolved, to know it again.
    pub identity: Option<PathBuf>,
}

/// Examines the file at `path`.
pub fn examine(path: &Path) -> Examination {
    let shown = path.display();
    let no = |check| Examination {
        check,
        can_be_watched: false,
        identity: None,
    };
    if !path.exists() {
        return no(Check::problem(
            format!("{shown}: there is no such file"),
            "give the path of an interpreter, or its name in PATH",
        ));
    }
    if let Some(obstacle) = obstacle(path) {
        return no(Check::problem(
            format!("{shown}: {obstacle}"),
            "use an interpreter that the loader starts with your own rights: Debian's, python.org's, conda's and pyenv's are",
        ));
    }
    let interpreter = match Interpreter::ask(path) {
        Ok(interpreter) => interpreter,
        Err(error) => return no(Check::problem(format!("{shown}: {error}"), advice(&error))),
    };
    let identity = interpreter.executable.canonicalize().ok();
    let name = if identity == path.canonicalize().ok() {
        format!("{shown}: {interpreter}")
    } else {
        format!(
            "{shown}, that is {}: {interpreter}",
            interpreter.executable.display()
        )
    };
    let refused = if interpreter.is_known() {
        in_force(&interpreter.executable).err()
    } else {
        Some("it is not CPython 3.8 to 3.15".to_owned())
    };
    let check = match (&refused, &interpreter.safe_reads) {
        (Some(reason), _) => Check::problem(
            format!("{name}: the hooks do not come into force: {reason}"),
            "use CPython 3.8 to 3.15 with its symbols exported, as every common distribution builds it",
        ),
        (None, SafeReads::Refused(reason)) => Check::warning(
            format!(
                "{name}: the hooks come into force, but process_vm_readv does not work ({reason})"
            ),
            "types of objects, stacks and Python frames will be missing in reports; allow the call (a container: --cap-add SYS_PTRACE, or another seccomp profile)",
        ),
        (None, SafeReads::Work) => Check::ok(format!("{name}: the hooks come into force")),
        (None, SafeReads::NotTried) => Check::ok(format!(
            "{name}: the hooks come into force (process_vm_readv not tried: no ctypes)"
        )),
    };
    Examination {
        check,
        can_be_watched: refused.is_none(),
        identity,
    }
}

fn advice(error: &NoAnswer) -> &'static str {
    match error {
        NoAnswer::Start(_) => "check that the file can be executed and is complete",
        NoAnswer::TooLate => "try whether it starts by itself: `-c pass` should return at once",
        NoAnswer::NoPython { .. } => "name a Python interpreter",
    }
}

/// Runs an empty program under the runtime and reads the trace; says why the hooks were not in
/// force.
fn in_force(executable: &Path) -> Result<(), String> {
    let directory = tempfile::tempdir().map_err(|error| error.to_string())?;
    let refsan = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new(refsan);
    command
        .args(["record", "--quiet", "--timeout", "20", "--trace-dir"])
        .arg(directory.path())
        .arg("--")
        .arg(executable)
        .args(["-E", "-s", "-c", "pass"]);
    let outcome = bounded::run(&mut command, LIMIT).map_err(|error| error.to_string())?;
    let mut reasons = Vec::new();
    for path in traces::list(directory.path()) {
        match Trace::read(&path) {
            Ok(trace) if trace.header.watch_state == watch_state::IN_FORCE => {
                return if outcome.succeeded() {
                    Ok(())
                } else {
                    Err(format!("an empty program ends with {}", end(&outcome)))
                };
            }
            Ok(trace) => reasons.push(text(&trace.header.reason)),
            Err(error) => reasons.push(error.to_string()),
        }
    }
    reasons.retain(|reason| !reason.is_empty());
    Err(if reasons.is_empty() {
        outcome
            .complaint()
            .unwrap_or_else(|| "the runtime wrote no trace".to_owned())
    } else {
        reasons.join("; ")
    })
}

fn end(outcome: &bounded::Outcome) -> String {
    outcome
        .status
        .map_or_else(|| "its time over".to_owned(), |status| status.to_string())
}
