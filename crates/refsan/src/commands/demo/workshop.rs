//! Builds the extension, faulty and cured, in a temporary directory.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::bounded;
use super::fault::{EXTENSION, FAULTS, Fault};
use crate::error::CommandError;

/// The extension as it is, or without its faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// With both faults.
    Faulty,
    /// With the cures.
    Cured,
}

impl Variant {
    fn directory(self) -> &'static str {
        match self {
            Variant::Faulty => "faulty",
            Variant::Cured => "cured",
        }
    }
}

/// A temporary directory with both variants, each beside the programs that import it.
#[derive(Debug)]
pub struct Workshop {
    directory: tempfile::TempDir,
}

impl Workshop {
    /// Compiles both.
    ///
    /// # Errors
    /// When there is no compiler, or it cannot compile, or there is no place for files.
    pub fn new() -> Result<Workshop, CommandError> {
        let directory = tempfile::Builder::new()
            .prefix("refsan-demo-")
            .tempdir()
            .map_err(|error| no_place(&std::env::temp_dir(), &error))?;
        let workshop = Workshop { directory };
        for variant in [Variant::Faulty, Variant::Cured] {
            let place = workshop.place(variant);
            std::fs::create_dir(&place).map_err(|error| no_place(&place, &error))?;
            let write = |name: &str, text: &str| {
                let path = place.join(name);
                std::fs::write(&path, text).map_err(|error| no_place(&path, &error))
            };
            write("extension.c", EXTENSION)?;
            for fault in &FAULTS {
                write(fault.file, fault.program)?;
            }
            compile(&place, variant)?;
        }
        Ok(workshop)
    }

    /// The program that runs into a fault, or, cured, does not.
    pub fn program(&self, fault: &Fault, variant: Variant) -> PathBuf {
        self.place(variant).join(fault.file)
    }

    /// A new directory for traces.
    ///
    /// # Errors
    /// When there is no place for it.
    pub fn trace_directory(&self) -> Result<PathBuf, CommandError> {
        let made = tempfile::Builder::new()
            .prefix("traces-")
            .tempdir_in(self.directory.path());
        // It goes with the workshop.
        made.map(tempfile::TempDir::keep)
            .map_err(|error| no_place(self.directory.path(), &error))
    }

    fn place(&self, variant: Variant) -> PathBuf {
        self.directory.path().join(variant.directory())
    }
}

fn no_place(path: &Path, error: &std::io::Error) -> CommandError {
    CommandError::Demo(format!(
        "the demo cannot write {}: {error}; set TMPDIR to a directory that can be written",
        path.display()
    ))
}

fn compile(place: &Path, variant: Variant) -> Result<(), CommandError> {
    let compiler = std::env::var_os("CC")
        .filter(|compiler| !compiler.is_empty())
        .unwrap_or_else(|| "cc".into());
    let shown = compiler.to_string_lossy().into_owned();
    // As make does: CC may hold arguments, `ccache gcc`.
    let mut words = shown.split_whitespace();
    let mut command = Command::new(words.next().unwrap_or("cc"));
    // The report then names the source without the temporary directory.
    let mut short_names = OsString::from("-fdebug-prefix-map=");
    short_names.push(place);
    short_names.push("=refsan-demo");
    command
        .args(words)
        .args(["-g", "-O0", "-shared", "-fPIC", "-pthread"])
        .arg(short_names)
        .args((variant == Variant::Cured).then_some("-DCURED"))
        .args(["extension.c", "-o", "refsan_demo.so"])
        .current_dir(place);
    let failed = |what: String| {
        CommandError::Demo(format!(
            "the demo needs a C compiler: {what}; install one (Debian, Ubuntu: `apt install gcc libc6-dev`, Fedora: `dnf install gcc`), or set CC"
        ))
    };
    match bounded::run(&mut command, Duration::from_secs(60)) {
        Err(error) => Err(failed(format!("`{shown}` cannot be started: {error}"))),
        Ok(outcome) if !outcome.succeeded() => Err(failed(format!(
            "`{shown}` could not compile a small extension\n{}\n",
            outcome.stderr.trim_end()
        ))),
        Ok(_) => Ok(()),
    }
}
