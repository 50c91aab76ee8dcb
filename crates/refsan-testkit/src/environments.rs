//! A virtual environment for each interpreter and set of pinned requirements, made once.

use crate::bounded::{Outcome, run_bounded};
use crate::cache::{Cache, CacheError};
use crate::interpreters::Interpreter;
use crate::key::Key;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::Duration;

/// Raise when environments are made in another way.
const LAYOUT: u32 = 1;

/// Big wheels over a slow line.
const PIP_LIMIT: Duration = Duration::from_secs(1200);

/// The first pip that installs for another interpreter (`--python`).
const OLDEST_PIP: (u64, u64) = (22, 3);

/// A pip that runs on the newest interpreters, for those that come without.
const NEW_PIP: &str = "pip==26.3";

/// An interpreter with its packages.
#[derive(Debug, Clone)]
pub struct Environment {
    /// The executable to start.
    pub python: PathBuf,
    /// Where the packages are; none for an interpreter without requirements.
    pub site_packages: Option<PathBuf>,
}

/// Why an environment could not be made.
#[derive(Debug, Clone, thiserror::Error)]
pub enum EnvironmentError {
    /// Nothing on this machine can install packages.
    #[error("no interpreter here has pip; install it for one of them (`python3 -m ensurepip`)")]
    NoPip,
    /// No wheel fits this interpreter (or the registry cannot be reached: pip says the same).
    #[error("no wheel for CPython {interpreter}: {output}")]
    NoWheel {
        /// The interpreter.
        interpreter: String,
        /// What pip said last.
        output: String,
    },
    /// A command failed.
    #[error("{what} failed: {output}")]
    Failed {
        /// Which command.
        what: &'static str,
        /// What it said last.
        output: String,
    },
    /// The cache cannot be used.
    #[error("{0}")]
    Cache(String),
}

impl From<CacheError> for EnvironmentError {
    fn from(error: CacheError) -> Self {
        Self::Cache(error.to_string())
    }
}

impl Environment {
    /// The environment of `interpreter` with `requirements` (pinned, from wheels only), made
    /// when the cache has none. Without requirements it is the interpreter itself.
    ///
    /// # Errors
    /// There is no pip, no fitting wheel, or a command failed; a failure is remembered for the
    /// rest of the process.
    pub fn new(
        cache: &Cache,
        interpreter: &Interpreter,
        requirements: &[String],
    ) -> Result<Self, EnvironmentError> {
        if requirements.is_empty() {
            return Ok(Self {
                python: interpreter.path.clone(),
                site_packages: None,
            });
        }
        static FAILED: Mutex<BTreeMap<String, EnvironmentError>> = Mutex::new(BTreeMap::new());
        let failed = || {
            FAILED
                .lock()
                .unwrap_or_else(|poisoned| poisoned.into_inner())
        };
        let name = format!("environments/{}", key(interpreter, requirements));
        // One pip at a time: two would only fight for the line and the cores.
        let _turn = if cache.complete(&name).is_none() {
            Some(cache.lock("pip")?)
        } else {
            None
        };
        if let Some(error) = failed().get(&name) {
            return Err(error.clone());
        }
        let directory = cache
            .once(&name, |directory| {
                make(cache, directory, interpreter, requirements)
            })
            .inspect_err(|error| {
                failed().insert(name.clone(), error.clone());
            })?;
        Ok(Self {
            python: directory.join("bin/python"),
            site_packages: site_packages(&directory),
        })
    }
}

/// The requirements in the text of a requirements file.
pub(crate) fn requirements(text: &str) -> Vec<String> {
    text.lines()
        .map(|line| line.split('#').next().unwrap_or_default().trim())
        .filter(|line| !line.is_empty())
        .map(str::to_string)
        .collect()
}

fn key(interpreter: &Interpreter, requirements: &[String]) -> String {
    let key = Key::new("environment", LAYOUT)
        .text(&interpreter.path.to_string_lossy())
        .text(&interpreter.version.to_string());
    requirements
        .iter()
        .fold(key, |key, one| key.text(one))
        .finish()
}

fn make(
    cache: &Cache,
    directory: &Path,
    interpreter: &Interpreter,
    requirements: &[String],
) -> Result<(), EnvironmentError> {
    // Without pip inside: Debian's interpreters have no ensurepip, and a pip outside will do.
    let mut venv = Command::new(&interpreter.path);
    venv.args(["-m", "venv", "--without-pip"]).arg(directory);
    run("venv", &mut venv)?;
    let python = directory.join("bin/python");
    let mut install;
    if has_pip(interpreter) {
        install = Command::new(&interpreter.path);
        install.args(["-m", "pip", "--python"]).arg(&python);
    } else {
        install = Command::new(&python);
        install
            .env("PYTHONPATH", new_pip(cache)?)
            .args(["-m", "pip"]);
    }
    install
        .args([
            "install",
            "--quiet",
            "--no-input",
            "--disable-pip-version-check",
        ])
        .args(["--only-binary", ":all:"])
        .args(requirements);
    match run("pip install", &mut install) {
        Err(EnvironmentError::Failed { output, .. })
            if output.contains("No matching distribution") =>
        {
            Err(EnvironmentError::NoWheel {
                interpreter: interpreter.to_string(),
                output,
            })
        }
        other => other.map(drop),
    }
}

fn run(what: &'static str, command: &mut Command) -> Result<Outcome, EnvironmentError> {
    let failed = |output| EnvironmentError::Failed { what, output };
    let outcome = run_bounded(command, PIP_LIMIT).map_err(|error| failed(error.to_string()))?;
    if outcome.succeeded() {
        Ok(outcome)
    } else {
        Err(failed(format!(
            "{}: {}",
            outcome.ending,
            outcome.last_lines(4)
        )))
    }
}

/// Whether the interpreter's own pip will do.
fn has_pip(interpreter: &Interpreter) -> bool {
    pip_version(&interpreter.path).is_some_and(|version| version >= OLDEST_PIP)
}

/// A directory that holds [`NEW_PIP`], installed by any pip there is.
fn new_pip(cache: &Cache) -> Result<PathBuf, EnvironmentError> {
    let name = format!(
        "packages/{}",
        Key::new("packages", LAYOUT).text(NEW_PIP).finish()
    );
    cache.once(&name, |directory| {
        let mut interpreters = Interpreter::all().iter();
        let host = interpreters.find(|one| pip_version(&one.path).is_some());
        let mut command = Command::new(&host.ok_or(EnvironmentError::NoPip)?.path);
        command
            .args([
                "-m",
                "pip",
                "install",
                "--quiet",
                "--no-input",
                "--disable-pip-version-check",
            ])
            // Only copied here: the interpreter that it is for is a newer one.
            .args([
                "--no-deps",
                "--ignore-requires-python",
                "--only-binary",
                ":all:",
                "--target",
            ])
            .arg(directory)
            .arg(NEW_PIP);
        run("pip install pip", &mut command).map(drop)
    })
}

pub(crate) fn pip_version(python: &Path) -> Option<(u64, u64)> {
    let mut command = Command::new(python);
    command.args(["-m", "pip", "--version"]);
    let outcome = run_bounded(&mut command, Duration::from_secs(60)).ok()?;
    parse_pip_version(&outcome.stdout)
}

/// Reads `pip 23.2.1 from …`.
fn parse_pip_version(text: &str) -> Option<(u64, u64)> {
    let mut parts = text
        .strip_prefix("pip ")?
        .split_whitespace()
        .next()?
        .split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

fn site_packages(directory: &Path) -> Option<PathBuf> {
    let versions = std::fs::read_dir(directory.join("lib")).ok()?;
    versions
        .flatten()
        .map(|entry| entry.path().join("site-packages"))
        .find(|path| path.is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skip::Skip;

    #[test]
    fn requirements_files_may_hold_comments() {
        assert_eq!(
            requirements("a==1 # why\n\n# none\nb==2\n"),
            ["a==1", "b==2"]
        );
    }

    #[test]
    fn pip_tells_its_version() {
        assert_eq!(
            parse_pip_version("pip 23.2.1 from /x (python 3.11)"),
            Some((23, 2))
        );
        assert_eq!(parse_pip_version("No module named pip"), None);
    }

    #[test]
    fn the_key_changes_with_the_interpreter_and_the_requirements() {
        let Some(one) = Interpreter::all().first() else {
            Skip::new("environment keys", "no interpreter").print();
            return;
        };
        let a = key(one, &["x==1".into()]);
        assert_eq!(a, key(one, &["x==1".into()]));
        assert_ne!(a, key(one, &["x==2".into()]));
        let other = Interpreter {
            path: PathBuf::from("/elsewhere/python3"),
            ..one.clone()
        };
        assert_ne!(a, key(&other, &["x==1".into()]));
    }
}
