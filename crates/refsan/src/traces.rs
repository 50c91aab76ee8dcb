//! The traces of a run: where they go, which are its own, and what can be read of them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use refsan_trace::Trace;

use crate::error::CommandError;

/// A directory that a run's traces go to.
#[derive(Debug)]
pub struct TraceDirectory {
    path: PathBuf,
    /// What was there before the run.
    before: BTreeSet<PathBuf>,
    /// Removed in the end unless it is kept.
    temporary: Option<tempfile::TempDir>,
}

impl TraceDirectory {
    /// `given`, or a temporary directory.
    ///
    /// # Errors
    /// When traces cannot be written there.
    pub fn new(given: Option<&Path>) -> Result<Self, CommandError> {
        let fail = |path: &Path| {
            let path = path.to_owned();
            move |source| CommandError::TraceDirectory { path, source }
        };
        let Some(path) = given else {
            let parent = std::env::temp_dir();
            let temporary = tempfile::Builder::new()
                .prefix("refsan-")
                .tempdir()
                .map_err(fail(&parent))?;
            let path = temporary.path().to_owned();
            return Ok(TraceDirectory {
                path,
                before: BTreeSet::new(),
                temporary: Some(temporary),
            });
        };
        std::fs::create_dir_all(path).map_err(fail(path))?;
        // Absolute: the program may change its working directory.
        let path = std::path::absolute(path).map_err(fail(path))?;
        tempfile::tempfile_in(&path).map_err(fail(&path))?;
        let before = list(&path).into_iter().collect();
        Ok(TraceDirectory {
            path,
            before,
            temporary: None,
        })
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The traces that have come since it was made.
    pub fn new_traces(&self) -> Vec<PathBuf> {
        list(&self.path)
            .into_iter()
            .filter(|path| !self.before.contains(path))
            .collect()
    }

    /// Keeps a temporary directory.
    pub fn keep(self) {
        if let Some(temporary) = self.temporary {
            let _path = temporary.keep();
        }
    }
}

/// The traces in a directory, sorted.
pub fn list(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let is_trace = |path: &PathBuf| {
        path.extension()
            .is_some_and(|extension| extension == "rstrace")
    };
    let mut traces: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_trace).collect();
    traces.sort();
    traces
}

/// Traces that could be read, and why others could not.
pub struct Read {
    /// The traces.
    pub traces: Vec<Trace>,
    /// One sentence for each that could not be read.
    pub problems: Vec<String>,
}

/// Reads files. One that cannot be read does not hide the others.
pub fn read_all(paths: &[PathBuf]) -> Read {
    let mut read = Read {
        traces: Vec::new(),
        problems: Vec::new(),
    };
    for path in paths {
        match Trace::read(path) {
            Ok(trace) => read.traces.push(trace),
            Err(error) => read.problems.push(error.to_string()),
        }
    }
    read
}
