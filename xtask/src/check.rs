//! `cargo xtask check`: what must hold before a change is looked at.

mod tree;

use crate::command::{TaskError, cargo};

/// Feature combinations that the workspace's own build does not cover.
const FEATURE_COMBINATIONS: [&[&str]; 1] = [
    // The writer alone, as the preloaded library has it. (The library itself is built, with all its
    // warnings, by the build script of `refsan`.)
    &[
        "--package",
        "refsan-trace",
        "--no-default-features",
        "--features",
        "writer",
    ],
];

/// Runs all checks; the first that fails ends it.
pub fn run() -> Result<(), TaskError> {
    tree::check(&refsan_testkit::source_root())?;
    cargo(&["fmt", "--all", "--check"])?;
    // In a workspace of its own.
    cargo(&["fmt", "--manifest-path", "fuzz/Cargo.toml", "--check"])?;
    let strict = ["--", "--deny", "warnings"];
    let lint = |what: &[&str]| cargo(&[&["clippy"], what, &strict].concat());
    lint(&["--workspace", "--all-targets"])?;
    for features in FEATURE_COMBINATIONS {
        lint(features)?;
    }
    Ok(())
}
