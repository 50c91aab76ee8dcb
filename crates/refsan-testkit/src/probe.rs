//! Asks one interpreter what it is, by running it: names and paths alone do not tell a static
//! from a shared build, nor whether headers are there.

use crate::bounded::run_bounded;
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const SCRIPT: &str = r#"
import json, os, sys, sysconfig
variable = sysconfig.get_config_var
with open("/proc/self/maps") as maps:
    shared = "/libpython" in maps.read()
print(json.dumps({
    "executable": os.path.realpath(sys.executable),
    "implementation": sys.implementation.name,
    "version": "%d.%d.%d" % sys.version_info[:3],
    "shared": shared,
    "free_threaded": bool(variable("Py_GIL_DISABLED")),
    "include": sysconfig.get_path("include"),
    "extension_suffix": variable("EXT_SUFFIX"),
    "library_directory": variable("LIBDIR"),
    "library_version": variable("LDVERSION"),
}))
"#;

/// Where the interpreter's code is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Linkage {
    /// In `libpython3.x.so`.
    Shared,
    /// In the executable itself.
    Static,
}

/// What an interpreter says about itself.
#[derive(Debug, Deserialize)]
pub(crate) struct Answer {
    pub executable: PathBuf,
    pub implementation: String,
    pub version: String,
    pub shared: bool,
    pub free_threaded: bool,
    pub include: PathBuf,
    pub extension_suffix: String,
    pub library_directory: Option<PathBuf>,
    pub library_version: Option<String>,
}

/// Why a candidate is no usable interpreter.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProbeError {
    #[error("cannot be started: {0}")]
    Start(#[from] std::io::Error),
    #[error("ended with {0}")]
    Ended(String),
    #[error("its answer cannot be read: {0}")]
    Answer(#[from] serde_json::Error),
}

/// Runs the interpreter at `path`, isolated from the environment and the user's packages.
pub(crate) fn ask(path: &Path) -> Result<Answer, ProbeError> {
    let mut command = Command::new(path);
    command.args(["-I", "-c", SCRIPT]);
    let outcome = run_bounded(&mut command, Duration::from_secs(30))?;
    if !outcome.succeeded() {
        return Err(ProbeError::Ended(format!(
            "{}: {}",
            outcome.ending,
            outcome.last_lines(2)
        )));
    }
    Ok(serde_json::from_str(&outcome.stdout)?)
}
