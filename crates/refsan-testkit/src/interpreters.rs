//! The interpreters to test on, found by looking: what is installed is tested, what is missing
//! is said.

use crate::cache::Cache;
use crate::debian;
use crate::probe::{self, Linkage, ProbeError};
use crate::skip::Skip;
use pep440_rs::{Version, VersionSpecifiers};
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::OnceLock;

/// The minor versions of CPython 3 that refsan watches.
const WATCHED_MINOR_VERSIONS: std::ops::RangeInclusive<u64> = 8..=15;

/// Limits the interpreters to a comma-separated list of version prefixes, for a quick run.
const SELECTION: &str = "REFSAN_TEST_PYTHON";

/// One CPython interpreter of this machine.
#[derive(Debug, Clone)]
pub struct Interpreter {
    /// The executable, with symbolic links resolved.
    pub path: PathBuf,
    /// Its version, for instance 3.11.7.
    pub version: Version,
    /// Whether its code is in the executable or in a shared library.
    pub linkage: Linkage,
    /// Whether it is a free-threaded build.
    pub free_threaded: bool,
    /// The directories to compile with: its own headers, or those of another interpreter of the
    /// same minor version and threading, which have the same binary interface. Empty when there
    /// are none.
    pub include: Vec<PathBuf>,
    /// How the file of an extension module ends, for instance `.cpython-311-x86_64-linux-gnu.so`.
    pub extension_suffix: String,
    /// `libpython3.x.so`, for programs that embed it.
    pub library: Option<PathBuf>,
}

impl Interpreter {
    /// All interpreters of this machine that refsan watches, oldest first, looked for once. Each
    /// watched version that is missing is printed as skipped.
    pub fn all() -> &'static [Interpreter] {
        static ALL: OnceLock<Vec<Interpreter>> = OnceLock::new();
        ALL.get_or_init(|| {
            let found = discover();
            for minor in WATCHED_MINOR_VERSIONS {
                if !found.iter().any(|one| one.version.release()[1] == minor) {
                    Skip::new(
                        format!("CPython 3.{minor}"),
                        "no such interpreter was found",
                    )
                    .print();
                }
            }
            found
        })
    }

    /// The newest interpreter whose version is `prefix` or starts with it: `3.11` finds 3.11.7,
    /// and `3.1` does not.
    pub fn find(prefix: &str) -> Option<&'static Interpreter> {
        Self::all().iter().rev().find(|one| one.is(prefix))
    }

    /// Whether the version is `prefix` or starts with it.
    pub fn is(&self, prefix: &str) -> bool {
        starts_with(&self.version, prefix)
    }

    /// Whether the version meets a condition such as `>=3.8,<3.12`.
    pub fn meets(&self, condition: &VersionSpecifiers) -> bool {
        condition.contains(&self.version)
    }

    /// The minor version, 11 for 3.11.7.
    pub fn minor(&self) -> u64 {
        self.version.release().get(1).copied().unwrap_or_default()
    }
}

impl fmt::Display for Interpreter {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let threads = if self.free_threaded { "t" } else { "" };
        let linkage = match self.linkage {
            Linkage::Shared => "",
            Linkage::Static => " static",
        };
        write!(formatter, "{}{threads}{linkage}", self.version)
    }
}

fn starts_with(version: &Version, prefix: &str) -> bool {
    let release = version.release();
    let wanted: Option<Vec<u64>> = prefix.split('.').map(|part| part.parse().ok()).collect();
    wanted.is_some_and(|wanted| release.starts_with(&wanted))
}

fn discover() -> Vec<Interpreter> {
    let mut found: BTreeMap<PathBuf, Interpreter> = BTreeMap::new();
    for candidate in candidates() {
        match probe_one(&candidate) {
            Ok(Some(one)) => {
                found.entry(one.path.clone()).or_insert(one);
            }
            Ok(None) => {}
            Err(error) => Skip::new(candidate.display().to_string(), error.to_string()).print(),
        }
    }
    let mut all: Vec<Interpreter> = found.into_values().collect();
    all.sort_by(|a, b| (&a.version, &a.path).cmp(&(&b.version, &b.path)));
    borrow_headers(&mut all);
    if let Ok(selection) = std::env::var(SELECTION) {
        let prefixes: Vec<&str> = selection.split(',').map(str::trim).collect();
        let dropped = |one: &Interpreter| !prefixes.iter().any(|prefix| one.is(prefix));
        for one in all.iter().filter(|one| dropped(one)) {
            Skip::new(
                format!("CPython {one}"),
                format!("{SELECTION} is {selection}"),
            )
            .print();
        }
        all.retain(|one| !dropped(one));
    }
    all
}

/// Paths that may be interpreters, some of them the same.
pub(crate) fn candidates() -> Vec<PathBuf> {
    let mut paths = Vec::new();
    let pyenv = std::env::var_os("PYENV_ROOT")
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("HOME").map(|home| Path::new(&home).join(".pyenv")));
    if let Some(versions) = pyenv.as_ref().map(|root| root.join("versions")) {
        for entry in std::fs::read_dir(versions).into_iter().flatten().flatten() {
            paths.push(entry.path().join("bin/python3"));
        }
    }
    paths.push(PathBuf::from("/usr/bin/python3"));
    for directory in std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()) {
        // pyenv's shims start what lies under its versions, which is listed already.
        if pyenv
            .as_ref()
            .is_some_and(|root| directory.starts_with(root))
        {
            continue;
        }
        paths.push(directory.join("python3"));
        paths
            .extend(WATCHED_MINOR_VERSIONS.map(|minor| directory.join(format!("python3.{minor}"))));
    }
    if let Ok(cache) = Cache::open() {
        paths.extend(debian::unpacked_interpreters(&cache));
    }
    paths.retain(|path| path.exists());
    paths
}

/// The interpreter at `path`, or none when it is one that refsan does not watch.
fn probe_one(path: &Path) -> Result<Option<Interpreter>, ProbeError> {
    let answer = probe::ask(path)?;
    let Ok(version) = Version::from_str(&answer.version) else {
        return Ok(None);
    };
    let watched =
        version.release()[0] == 3 && WATCHED_MINOR_VERSIONS.contains(&version.release()[1]);
    if !watched || answer.implementation != "cpython" {
        return Ok(None);
    }
    let library = answer
        .library_directory
        .zip(answer.library_version)
        .map(|(directory, version)| directory.join(format!("libpython{version}.so")))
        .filter(|library| answer.shared && library.exists());
    Ok(Some(Interpreter {
        path: answer.executable,
        version,
        linkage: if answer.shared {
            Linkage::Shared
        } else {
            Linkage::Static
        },
        free_threaded: answer.free_threaded,
        include: include_directories(answer.include),
        extension_suffix: answer.extension_suffix,
        library,
    }))
}

fn include_directories(include: PathBuf) -> Vec<PathBuf> {
    if !include.join("Python.h").is_file() {
        return Vec::new();
    }
    // Debian's pyconfig.h only leads to `<x86_64-linux-gnu/python3.x/pyconfig.h>` one level up.
    let above = include.parent().map(Path::to_path_buf);
    let above = above.filter(|above| above.join("x86_64-linux-gnu").is_dir());
    std::iter::once(include).chain(above).collect()
}

fn borrow_headers(all: &mut [Interpreter]) {
    let binary_interface = |one: &Interpreter| (one.minor(), one.free_threaded);
    for index in 0..all.len() {
        if all[index].include.is_empty() {
            let lender = all.iter().find(|other| {
                !other.include.is_empty()
                    && binary_interface(other) == binary_interface(&all[index])
            });
            all[index].include = lender
                .map(|other| other.include.clone())
                .unwrap_or_default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> Version {
        Version::from_str(text).unwrap()
    }

    #[test]
    fn a_prefix_matches_whole_parts_only() {
        assert!(starts_with(&version("3.11.7"), "3.11"));
        assert!(starts_with(&version("3.11.7"), "3.11.7"));
        assert!(!starts_with(&version("3.11.7"), "3.1"));
        assert!(!starts_with(&version("3.11.7"), "3.11.70"));
        assert!(!starts_with(&version("3.11.7"), ""));
    }

    #[test]
    fn version_conditions_are_those_of_packaging_tools() {
        let meets = |condition: &str, text: &str| {
            VersionSpecifiers::from_str(condition)
                .unwrap()
                .contains(&version(text))
        };
        assert!(meets(">=3.8", "3.8.18"));
        assert!(meets(">=3.8,<3.12", "3.11.7"));
        assert!(!meets(">=3.8,<3.12", "3.12.1"));
        assert!(meets("==3.13.*", "3.13.0"));
        assert!(meets(">=3.9", "3.15.2"));
    }

    #[test]
    fn each_found_interpreter_is_a_watched_one() {
        for one in Interpreter::all() {
            assert!(WATCHED_MINOR_VERSIONS.contains(&one.minor()), "{one}");
            assert!(one.path.is_file());
            assert!(one.include.iter().all(|directory| directory.is_dir()));
        }
    }

    #[test]
    fn what_is_no_interpreter_gives_a_reason() {
        let error = probe_one(Path::new("/bin/false")).unwrap_err();
        assert_eq!(error.to_string(), "ended with exit status 1: ");
    }
}
