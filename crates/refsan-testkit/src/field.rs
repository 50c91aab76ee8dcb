//! Field cases: faults that were reproduced on wheels as they are published, and correct programs
//! that must not be accused.

use crate::cache::Cache;
use crate::environments::{Environment, EnvironmentError};
use crate::interpreters::Interpreter;
use crate::program::Program;
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// What is wrong in a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// An object is released with no attached thread state.
    A,
    /// The C-API is called with no attached thread state.
    B,
    /// Released or called after finalization.
    C,
    /// Attaching during finalization.
    D,
    /// Threads wait for each other, the interpreter's lock among them.
    E,
    /// The thread state is held for long while others wait.
    F,
    /// A lent buffer is used after the call.
    G,
}

impl Kind {
    /// Whether refsan names this kind today; the others only have to run unchanged.
    pub fn is_reported(self) -> bool {
        matches!(self, Kind::A | Kind::B | Kind::C | Kind::D)
    }
}

#[derive(Deserialize)]
struct CaseDescription {
    kind: Kind,
    python: Vec<String>,
    #[serde(default)]
    args: Vec<Vec<String>>,
    rules_any: Vec<String>,
    module: String,
    expected: String,
    #[serde(default)]
    observed: String,
    #[serde(default)]
    flaky: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CleanDescription {
    python: Vec<String>,
    #[serde(default)]
    args: Vec<Vec<String>>,
    /// Says why it must be clean.
    #[serde(rename = "note", default)]
    _note: String,
}

/// A fault in a published wheel.
#[derive(Debug, Clone)]
pub struct Case {
    /// How to run it.
    pub runs: Runs,
    /// What is wrong.
    pub kind: Kind,
    /// One of these rules must be reported.
    pub rules_any: Vec<String>,
    /// The reported finding mentions this (a regular expression).
    pub module: regex::Regex,
    /// What must be reported, in words.
    pub expected: String,
    /// What the program does by itself, in words.
    pub observed: String,
    /// How often the fault shows by itself, in words.
    pub flaky: String,
}

/// A script with its packages, interpreters and arguments.
#[derive(Debug, Clone)]
pub struct Runs {
    /// The name of its directory.
    pub id: String,
    /// The script, absolute.
    pub script: PathBuf,
    /// Pinned requirements.
    pub requirements: Vec<String>,
    /// The versions of Python it is for.
    pub python: Vec<String>,
    /// The arguments of each run; one run without arguments when none are given.
    pub args: Vec<Vec<String>>,
}

/// Why a case cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum FieldError {
    /// A file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The description is not as it should be.
    #[error("{}: {reason}", path.display())]
    Description {
        /// Which file.
        path: PathBuf,
        /// Where and why.
        reason: String,
    },
}

/// The versions that a clean program without a description runs on: one where a release without
/// thread state may borrow another's, and one where it cannot.
const CLEAN_PYTHON: [&str; 2] = ["3.11", "3.13"];

/// Reads the fault cases below `root`, sorted by id.
///
/// # Errors
/// The directory cannot be listed. A case that cannot be read is an error of its own.
pub fn cases(root: &Path) -> Result<Vec<Result<Case, FieldError>>, FieldError> {
    Ok(directories(&root.join("cases"))?
        .iter()
        .map(|directory| case(directory))
        .collect())
}

/// Reads the clean programs below `root`, sorted by id.
///
/// # Errors
/// The directory cannot be listed. A program that cannot be read is an error of its own.
pub fn clean(root: &Path) -> Result<Vec<Result<Runs, FieldError>>, FieldError> {
    Ok(directories(&root.join("clean"))?
        .iter()
        .map(|directory| clean_program(directory))
        .collect())
}

/// The interpreter of exactly this version, else the newest of the same minor version.
pub fn interpreter_for(version: &str) -> Option<&'static Interpreter> {
    let minor = version.splitn(3, '.').take(2).collect::<Vec<_>>().join(".");
    Interpreter::find(version).or_else(|| Interpreter::find(&minor))
}

impl Runs {
    /// The program of one run, in its environment, which is made when the cache has none.
    ///
    /// # Errors
    /// The environment cannot be made.
    pub fn program(
        &self,
        cache: &Cache,
        interpreter: &Interpreter,
        arguments: &[String],
    ) -> Result<Program, EnvironmentError> {
        let environment = Environment::new(cache, interpreter, &self.requirements)?;
        let program = Program::new(environment.python).argument(&self.script);
        Ok(arguments.iter().fold(program, Program::argument))
    }
}

fn case(directory: &Path) -> Result<Case, FieldError> {
    let path = directory.join("case.toml");
    let description: CaseDescription = parse(&path)?;
    let module =
        regex::Regex::new(&description.module).map_err(|error| FieldError::Description {
            path,
            reason: error.to_string(),
        })?;
    Ok(Case {
        runs: runs(directory, "repro.py", description.python, description.args)?,
        kind: description.kind,
        rules_any: description.rules_any,
        module,
        expected: description.expected,
        observed: description.observed,
        flaky: description.flaky,
    })
}

fn clean_program(directory: &Path) -> Result<Runs, FieldError> {
    let path = directory.join("clean.toml");
    let description = if path.exists() {
        parse(&path)?
    } else {
        let python = CLEAN_PYTHON.map(str::to_string).to_vec();
        CleanDescription {
            python,
            args: Vec::new(),
            _note: String::new(),
        }
    };
    runs(directory, "run.py", description.python, description.args)
}

fn runs(
    directory: &Path,
    script: &str,
    python: Vec<String>,
    mut args: Vec<Vec<String>>,
) -> Result<Runs, FieldError> {
    let script = directory.join(script);
    // Read only to say now that it is missing.
    read(&script)?;
    if args.is_empty() {
        args.push(Vec::new());
    }
    Ok(Runs {
        id: directory
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned(),
        script,
        requirements: crate::environments::requirements(&read(
            &directory.join("requirements.txt"),
        )?),
        python,
        args,
    })
}

fn parse<T: for<'de> Deserialize<'de>>(path: &Path) -> Result<T, FieldError> {
    toml::from_str(&read(path)?).map_err(|error| FieldError::Description {
        path: path.to_path_buf(),
        reason: error.to_string(),
    })
}

fn read(path: &Path) -> Result<String, FieldError> {
    fs::read_to_string(path).map_err(|source| FieldError::Read {
        path: path.to_path_buf(),
        source,
    })
}

fn directories(root: &Path) -> Result<Vec<PathBuf>, FieldError> {
    let failed = |source| FieldError::Read {
        path: root.to_path_buf(),
        source,
    };
    let mut found = Vec::new();
    for entry in fs::read_dir(root).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.is_dir() {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_cases_can_be_read() {
        let root = crate::source_root().join("field");
        let cases: Vec<Case> = cases(&root)
            .unwrap()
            .into_iter()
            .map(Result::unwrap)
            .collect();
        assert!(cases.iter().any(|case| case.kind.is_reported()));
        let circt = cases
            .iter()
            .find(|case| case.runs.id == "00-circt-entered-contexts")
            .unwrap();
        assert_eq!(circt.runs.args.len(), 3);
        assert_eq!(circt.runs.requirements, ["circt==1.62.0"]);
        let clean: Vec<Runs> = clean(&root)
            .unwrap()
            .into_iter()
            .map(Result::unwrap)
            .collect();
        assert!(
            clean
                .iter()
                .all(|runs| !runs.python.is_empty() && !runs.args.is_empty())
        );
    }

    #[test]
    fn a_wrong_description_says_where_and_why() {
        let root = tempfile::tempdir().unwrap();
        let directory = root.path().join("cases/one");
        fs::create_dir_all(&directory).unwrap();
        let message = |text: &str| {
            fs::write(directory.join("case.toml"), text).unwrap();
            cases(root.path())
                .unwrap()
                .remove(0)
                .unwrap_err()
                .to_string()
        };
        let unknown = message("kind = \"z\"\n");
        assert!(
            unknown.contains("case.toml") && unknown.contains("unknown variant `z`"),
            "{unknown}"
        );
        assert!(message("kind = \"a\"\n").contains("missing field `python`"));
        let rest = "python = []\nrules_any = []\nexpected = \"\"\n";
        assert!(
            message(&format!("kind = \"a\"\nmodule = \"(\"\n{rest}")).contains("unclosed group")
        );
        assert!(message(&format!("kind = \"a\"\nmodule = \"x\"\n{rest}")).contains("repro.py"));
    }
}
