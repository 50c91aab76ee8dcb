//! Fetches wheels with pip, which runs nothing of them, and checks what came.

use crate::Case;
use refsan_image::input::{Content, FileBytes, Limits, open};
use refsan_testkit::Cache;
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// The wheel of the case, fetched unless it is there.
pub(crate) fn path(case: &Case) -> PathBuf {
    let cache = Cache::open().expect("a cache directory");
    let _lock = cache.lock("wheels").expect("the lock of the wheels");
    let directory = cache.entry("wheels");
    let path = directory.join(case.wheel);
    if !path.exists() {
        fetch(case, &directory);
    }
    let bytes = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", case.wheel));
    let digest = Sha256::digest(&bytes);
    let hexadecimal = digest.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    });
    assert_eq!(hexadecimal, case.sha256, "{}", case.wheel);
    path
}

fn fetch(case: &Case, directory: &std::path::Path) {
    let stem = case.wheel.trim_end_matches(".whl");
    let tags: Vec<&str> = stem.rsplitn(4, '-').collect();
    let [platforms, abi, python, _] = tags.as_slice() else {
        panic!("no wheel name: {}", case.wheel)
    };
    let mut pip = Command::new("python3");
    pip.args([
        "-m",
        "pip",
        "download",
        "--quiet",
        "--disable-pip-version-check",
    ])
    .args([
        "--no-deps",
        "--only-binary",
        ":all:",
        "--implementation",
        "cp",
    ])
    .args(["--python-version", python.trim_start_matches("cp")])
    .args(["--abi", abi])
    .arg("--dest")
    .arg(directory);
    for platform in platforms.split('.') {
        pip.args(["--platform", platform]);
    }
    let status = pip
        .arg(case.requirement)
        .status()
        .expect("python3 with pip");
    assert!(status.success(), "{}: {status}", case.requirement);
}

/// The binary of the case, through the reader that is under test as well.
pub(crate) fn member(case: &Case) -> FileBytes {
    let wanted = format!("!{}", case.file);
    let entry = open(path(case), Limits::default()).find(|entry| entry.name.ends_with(&wanted));
    match entry.map(|entry| entry.content) {
        Some(Content::Binary(bytes)) => bytes,
        other => panic!("{}: {other:?}", case.name),
    }
}
