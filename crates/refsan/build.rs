//! Builds the library that is preloaded, so that the command carries it along: wherever the command
//! is installed, its runtime is there, and of the same version.
use std::path::{Path, PathBuf};
use std::process::Command;

/// The crates that the library is made of.
const SOURCES: [&str; 5] = [
    "refsan-runtime",
    "refsan-hook",
    "refsan-trace",
    "refsan-interpreter",
    "refsan-capi",
];

fn main() {
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("set by cargo"));
    let library = out.join("librefsan_runtime.so");
    let crates = Path::new("..");
    for source in SOURCES {
        println!("cargo::rerun-if-changed={}", crates.join(source).display());
    }
    println!("cargo::rerun-if-changed=../../Cargo.lock");
    let target = |key| std::env::var(format!("CARGO_CFG_TARGET_{key}")).unwrap_or_default();
    if (target("OS"), target("ARCH")) != ("linux".to_owned(), "x86_64".to_owned()) {
        // The command says so when it is asked to run a program.
        std::fs::write(&library, b"").expect("OUT_DIR is writable");
        println!("cargo::rustc-env=REFSAN_RUNTIME_DIGEST=none");
        return;
    }
    let directory = out.join("runtime");
    let mut cargo = Command::new(std::env::var_os("CARGO").expect("set by cargo"));
    cargo
        .args([
            "rustc",
            "--lib",
            "--features",
            "preload",
            "--crate-type",
            "cdylib",
            "--profile",
            "runtime",
            "--manifest-path",
        ])
        .arg(crates.join("refsan-runtime/Cargo.toml"))
        .arg("--target-dir")
        .arg(&directory);
    // What the outer build was told for its own crates (lints, coverage, a sanitizer) is not meant
    // for a library that runs inside other programs.
    for name in [
        "RUSTFLAGS",
        "CARGO_ENCODED_RUSTFLAGS",
        "RUSTC_WORKSPACE_WRAPPER",
        "RUSTC_WRAPPER",
        "CARGO_BUILD_TARGET",
    ] {
        cargo.env_remove(name);
    }
    let status = cargo.status().expect("cargo can be started");
    assert!(
        status.success(),
        "the runtime library could not be built: {status}"
    );
    let built = std::fs::read(directory.join("runtime/librefsan_runtime.so"));
    let built = built.expect("the runtime library was built");
    // Tells builds apart; FNV-1a. Computed here, since it takes longer than all else at a start.
    let digest = built.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    println!("cargo::rustc-env=REFSAN_RUNTIME_DIGEST={digest:016x}");
    std::fs::write(&library, built).expect("OUT_DIR is writable");
}
