//! Scenarios: one tiny extension per situation, described by a `scenario.toml` beside its sources.

mod bare;

pub use bare::{Bare, Crashes};

use pep440_rs::VersionSpecifiers;
use regex::Regex;
use serde::Deserialize;
use serde::de::{self, Deserializer};
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// How a scenario is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Toolchain {
    /// C against the version's own interface.
    C,
    /// C++ against the version's own interface.
    Cpp,
    /// C against the limited interface.
    LimitedC,
    /// C++ with pybind11 from PyPI.
    Pybind11,
    /// C++ with nanobind from PyPI, whose library is compiled from the wheel's sources.
    Nanobind,
    /// Cython, translated by the environment's `cython`.
    Cython,
    /// Rust with PyO3, built by cargo.
    Pyo3,
    /// A cffi extension (API mode), built by the scenario's own build script.
    Cffi,
    /// Nothing is built but the libraries.
    None,
    /// A C++ program that embeds Python. `drive` is the name it gets, and it is run by itself.
    CppEmbed,
}

/// A shared library beside the extension.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Library {
    /// The library is called `lib<name>.so`.
    pub name: String,
    /// Its sources, relative to the scenario.
    pub sources: Vec<PathBuf>,
    /// Its own `RUNPATH`, for instance `$ORIGIN/plugins`.
    pub rpath: Option<String>,
    /// The directory it is put into, relative to the extension.
    #[serde(default)]
    pub directory: PathBuf,
}

/// What refsan must report.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    /// The codes of exactly the rules that must be reported; none for a cured scenario.
    #[serde(default)]
    pub rules: Vec<String>,
    /// Matches the function at fault.
    #[serde(default, deserialize_with = "pattern")]
    pub function: Option<Regex>,
    /// Matches the type of the released object.
    #[serde(default, deserialize_with = "pattern")]
    pub object_type: Option<Regex>,
    /// A source file that the finding names.
    pub source: Option<String>,
    /// The finding's severity.
    pub severity: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Description {
    title: String,
    toolchain: Toolchain,
    #[serde(default)]
    sources: Vec<PathBuf>,
    #[serde(default)]
    libraries: Vec<Library>,
    #[serde(default)]
    requires: Vec<String>,
    drive: PathBuf,
    #[serde(default)]
    network: bool,
    #[serde(default = "any_version", deserialize_with = "condition")]
    python: VersionSpecifiers,
    bare: Bare,
    #[serde(default)]
    expect: Expect,
}

/// A scenario, as its `scenario.toml` describes it.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// Its path below the scenario directory, for instance `fail/rs101/allow-threads-region`.
    pub name: String,
    /// The directory of its files.
    pub directory: PathBuf,
    /// One sentence.
    pub title: String,
    /// How it is built.
    pub toolchain: Toolchain,
    /// Sources, absolute.
    pub sources: Vec<PathBuf>,
    /// Libraries, built before the extension.
    pub libraries: Vec<Library>,
    /// Pinned requirements from PyPI.
    pub requires: Vec<String>,
    /// The script to run, absolute; for [`Toolchain::CppEmbed`] the name of the program to build.
    pub drive: PathBuf,
    /// Whether building it needs a package registry.
    pub network: bool,
    /// The versions of Python it is for.
    pub python: VersionSpecifiers,
    /// What it does by itself.
    pub bare: Bare,
    /// What refsan must report.
    pub expect: Expect,
}

/// Why a scenario cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// A file or directory cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The description is not as it should be.
    #[error("{}: {source}", path.display())]
    Description {
        /// The `scenario.toml`.
        path: PathBuf,
        /// Where and why.
        source: Box<toml::de::Error>,
    },
    /// A file that the description names is missing.
    #[error("{}: names `{}`, which is not there", path.display(), file.display())]
    Missing {
        /// The `scenario.toml`.
        path: PathBuf,
        /// The missing file.
        file: PathBuf,
    },
}

impl Scenario {
    /// Reads the scenario in `directory`, which is below `root`.
    ///
    /// # Errors
    /// Its `scenario.toml` cannot be read, is wrong, or names a missing file.
    pub fn read(root: &Path, directory: &Path) -> Result<Self, ScenarioError> {
        let path = directory.join("scenario.toml");
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(source) => return Err(ScenarioError::Read { path, source }),
        };
        let description: Description = match toml::from_str(&text) {
            Ok(description) => description,
            Err(source) => {
                return Err(ScenarioError::Description {
                    path,
                    source: Box::new(source),
                });
            }
        };
        let built = description.toolchain == Toolchain::CppEmbed;
        let drive = (!built).then_some(&description.drive);
        let named = description.sources.iter().chain(drive);
        let named = named.chain(
            description
                .libraries
                .iter()
                .flat_map(|library| &library.sources),
        );
        for file in named {
            if !directory.join(file).is_file() {
                return Err(ScenarioError::Missing {
                    path,
                    file: file.clone(),
                });
            }
        }
        let name = directory.strip_prefix(root).unwrap_or(directory);
        Ok(Self {
            name: name.to_string_lossy().into_owned(),
            directory: directory.to_path_buf(),
            title: description.title,
            toolchain: description.toolchain,
            sources: description
                .sources
                .iter()
                .map(|file| directory.join(file))
                .collect(),
            libraries: description.libraries,
            requires: description.requires,
            drive: if built {
                description.drive
            } else {
                directory.join(description.drive)
            },
            network: description.network,
            python: description.python,
            bare: description.bare,
            expect: description.expect,
        })
    }
}

/// Reads all scenarios below `root`, sorted by name. One that cannot be read does not hide the
/// others.
///
/// # Errors
/// A directory below `root` cannot be listed.
pub fn scenarios(root: &Path) -> Result<Vec<Result<Scenario, ScenarioError>>, ScenarioError> {
    let mut directories = Vec::new();
    find_directories(root, &mut directories)?;
    directories.sort();
    Ok(directories
        .iter()
        .map(|directory| Scenario::read(root, directory))
        .collect())
}

fn find_directories(directory: &Path, found: &mut Vec<PathBuf>) -> Result<(), ScenarioError> {
    if directory.join("scenario.toml").is_file() {
        found.push(directory.to_path_buf());
        return Ok(());
    }
    let failed = |source| ScenarioError::Read {
        path: directory.to_path_buf(),
        source,
    };
    for entry in std::fs::read_dir(directory).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.is_dir() {
            find_directories(&path, found)?;
        }
    }
    Ok(())
}

fn any_version() -> VersionSpecifiers {
    VersionSpecifiers::empty()
}

fn condition<'de, D: Deserializer<'de>>(deserializer: D) -> Result<VersionSpecifiers, D::Error> {
    let text = String::deserialize(deserializer)?;
    VersionSpecifiers::from_str(&text).map_err(|error| {
        de::Error::custom(format!(
            "expected a condition such as \">=3.8,<3.12\": {error}"
        ))
    })
}

fn pattern<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Regex>, D::Error> {
    let text = String::deserialize(deserializer)?;
    Regex::new(&text).map(Some).map_err(de::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "title = \"t\"\ntoolchain = \"limited-c\"\nsources = [\"extension.c\"]\n\
        drive = \"drive.py\"\npython = \">=3.8,<3.12\"\n[bare]\ncrashes = \"varies\"\n\
        [expect]\nrules = [\"RS101\"]\nfunction = \"a|b\"\n";

    fn read(description: &str) -> Result<Scenario, String> {
        let root = tempfile::tempdir().unwrap();
        let directory = root.path().join("fail/rs101/one");
        std::fs::create_dir_all(&directory).unwrap();
        for (name, text) in [
            ("scenario.toml", description),
            ("extension.c", ""),
            ("drive.py", ""),
        ] {
            std::fs::write(directory.join(name), text).unwrap();
        }
        let mut all = scenarios(root.path()).unwrap();
        assert_eq!(all.len(), 1);
        all.remove(0).map_err(|error| error.to_string())
    }

    #[test]
    fn a_description_is_read() {
        let scenario = read(GOOD).unwrap();
        assert_eq!(scenario.name, "fail/rs101/one");
        assert_eq!(scenario.toolchain, Toolchain::LimitedC);
        assert_eq!(scenario.bare.crashes, Crashes::Varies);
        assert!(scenario.expect.function.unwrap().is_match("b"));
        let flag = read(&GOOD.replace("\"varies\"", "true")).unwrap();
        assert_eq!(flag.bare.crashes, Crashes::Always);
        let embedding = GOOD
            .replace("limited-c", "cpp-embed")
            .replace("drive.py", "embed");
        assert_eq!(read(&embedding).unwrap().drive, Path::new("embed"));
    }

    #[test]
    fn a_wrong_description_says_where_and_why() {
        let message = |from: &str, to: &str| read(&GOOD.replace(from, to)).unwrap_err();
        let crashes = message("\"varies\"", "\"sometimes\"");
        assert!(
            crashes.contains("scenario.toml") && crashes.contains("line 7"),
            "{crashes}"
        );
        assert!(
            crashes.contains("expected true, false or \"varies\""),
            "{crashes}"
        );
        assert!(message("limited-c", "fortran").contains("unknown variant `fortran`"));
        assert!(message(">=3.8,<3.12", "new").contains("expected a condition such as"));
        assert!(message("title", "tittle").contains("unknown field `tittle`"));
        assert!(message("a|b", "(").contains("unclosed group"));
        assert!(message("extension.c", "absent.c").contains("names `absent.c`"));
    }
}
