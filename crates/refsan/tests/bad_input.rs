//! Bad input and bad places: one clear message, the documented status, no panic, nothing lost.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use refsan_testkit::Interpreter;

fn refsan(arguments: &[&str], directory: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_refsan"));
    command.args(arguments).current_dir(directory);
    for name in [
        "LD_PRELOAD",
        "REFSAN_OPTIONS",
        "REFSAN_TRACE_DIR",
        "REFSAN_FORMAT",
        "REFSAN_OUTPUT",
    ] {
        command.env_remove(name);
    }
    command.output().expect("refsan can be started")
}

fn scratch() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

fn message(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[track_caller]
fn assert_ends(output: &Output, status: i32, words: &[&str]) {
    let text = message(output);
    assert_eq!(output.status.code(), Some(status), "{text}");
    assert!(!text.contains("panicked"), "{text}");
    for word in words {
        assert!(text.contains(word), "expected `{word}` in: {text}");
    }
}

fn python() -> Option<&'static Interpreter> {
    let found = Interpreter::all().iter().find(|one| !one.free_threaded);
    if found.is_none() {
        println!("skipped: no Python interpreter was found");
    }
    found
}

/// Compiles a C program or library; `None`, with a word, without a compiler.
fn compile(directory: &Path, name: &str, source: &str, flags: &[&str]) -> Option<PathBuf> {
    let file = directory.join(format!("{name}.c"));
    std::fs::write(&file, source).expect("the source can be written");
    let target = directory.join(name);
    let built = Command::new("cc")
        .arg(&file)
        .arg("-o")
        .arg(&target)
        .args(flags)
        .output();
    match built {
        Ok(output) if output.status.success() => Some(target),
        other => {
            println!("skipped: cc {flags:?} does not work here: {other:?}");
            None
        }
    }
}

/// A library that passes for an interpreter of another version, and a program that uses it.
fn pretender(directory: &Path, functions: &str) -> Option<PathBuf> {
    let library =
        format!("int _PyRuntime[1024]; int Py_IsInitialized(void) {{ return 0; }} {functions}");
    compile(
        directory,
        "libpretender.so",
        &library,
        &["-shared", "-fPIC", "-Wl,--hash-style=sysv"],
    )?;
    let program = "int Py_IsInitialized(void); int main(void) { return Py_IsInitialized(); }";
    let path = format!("-L{}", directory.display());
    compile(
        directory,
        "program",
        program,
        &[&path, "-l:libpretender.so", "-Wl,-rpath,$ORIGIN"],
    )
}

#[test]
fn a_missing_command_is_wrong_usage() {
    let directory = scratch();
    assert_ends(&refsan(&["run"], directory.path()), 2, &["COMMAND"]);
    assert_ends(&refsan(&[], directory.path()), 2, &["Usage"]);
    let output = refsan(&["run", "--", "no-such-command-anywhere"], directory.path());
    assert_ends(&output, 2, &["no-such-command-anywhere", "PATH"]);
    let file = directory.path().join("not-executable");
    std::fs::write(&file, "text").unwrap();
    assert_ends(
        &refsan(&["run", "--", "./not-executable"], directory.path()),
        2,
        &["cannot start"],
    );
}

#[test]
fn unknown_words_get_the_list_of_known_ones() {
    let directory = scratch();
    let output = refsan(&["run", "--format", "yaml", "--", "true"], directory.path());
    assert_ends(&output, 2, &["yaml", "full, concise, json, jsonl"]);
    assert_ends(
        &refsan(&["rule", "RS999"], directory.path()),
        2,
        &["RS999", "RS101"],
    );
    let output = refsan(&["run", "--timeout", "-3", "--", "true"], directory.path());
    assert_ends(&output, 2, &["seconds"]);
}

#[test]
fn a_program_that_is_no_python_gets_no_clean_bill() {
    let directory = scratch();
    let output = refsan(&["run", "--", "true"], directory.path());
    assert_ends(
        &output,
        3,
        &["not in force", "nothing is claimed", "doctor"],
    );
    // Its own failure does not turn that into a claim.
    let output = refsan(&["run", "--", "false"], directory.path());
    assert_ends(&output, 3, &["status 1"]);
    let output = refsan(&["record", "--", "true"], directory.path());
    assert_ends(&output, 3, &["nothing was recorded"]);
}

#[test]
fn a_static_program_is_told_apart() {
    let directory = scratch();
    let source = "int main(void) { return 0; }";
    if compile(directory.path(), "static-program", source, &["-static"]).is_some() {
        let output = refsan(&["run", "--", "./static-program"], directory.path());
        assert_ends(&output, 3, &["statically linked"]);
    }
}

#[test]
fn an_interpreter_of_an_unknown_version_is_not_watched() {
    let directory = scratch();
    let functions = "const char *Py_GetVersion(void) { return \"3.99.1 (main)\"; }";
    if pretender(directory.path(), functions).is_some() {
        let output = refsan(&["run", "--", "./program"], directory.path());
        assert_ends(&output, 3, &["3.99.1", "CPython 3.8 to 3.15"]);
    }
}

#[test]
fn an_interpreter_that_exports_too_little_is_not_watched() {
    let directory = scratch();
    if pretender(directory.path(), "").is_some() {
        let output = refsan(&["run", "--", "./program"], directory.path());
        assert_ends(&output, 3, &["does not export Py_GetVersion"]);
    }
}

#[test]
fn files_that_are_no_traces_are_named_and_the_others_are_still_shown() {
    let directory = scratch();
    let path = |name: &str| directory.path().join(name).display().to_string();
    std::fs::write(path("empty.rstrace"), "").unwrap();
    std::fs::write(path("other.rstrace"), "\x7fELF and so on").unwrap();
    let mut newer = b"RSTRACE\0".to_vec();
    newer.extend(99_u32.to_le_bytes());
    newer.resize(8192, 0);
    std::fs::write(path("newer.rstrace"), newer).unwrap();
    let output = refsan(&["report", "missing.rstrace"], directory.path());
    assert_ends(&output, 2, &["missing.rstrace", "cannot read"]);
    assert_ends(
        &refsan(&["report", "empty.rstrace"], directory.path()),
        2,
        &["not a refsan trace"],
    );
    assert_ends(
        &refsan(&["report", "other.rstrace"], directory.path()),
        2,
        &["not a refsan trace"],
    );
    let output = refsan(&["report", "newer.rstrace"], directory.path());
    assert_ends(&output, 2, &["format 99", "a newer one"]);
    let empty = scratch();
    let output = refsan(
        &["report", &empty.path().display().to_string()],
        directory.path(),
    );
    assert_ends(&output, 2, &["holds no trace"]);
    let Some(python) = python() else { return };
    let interpreter = python.path.display().to_string();
    let output = refsan(
        &["record", "--", &interpreter, "-c", "print(1)"],
        directory.path(),
    );
    assert_ends(&output, 0, &["recorded"]);
    let output = refsan(&["report", "--format", "json", "."], directory.path());
    assert_ends(
        &output,
        2,
        &["empty.rstrace", "newer.rstrace", "other.rstrace"],
    );
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("\"in_force\": true"), "{text}");
}

#[test]
fn a_cut_trace_is_still_read() {
    let directory = scratch();
    let Some(python) = python() else { return };
    let interpreter = python.path.display().to_string();
    refsan(
        &["record", "--", &interpreter, "-c", "print(1)"],
        directory.path(),
    );
    let trace = std::fs::read_dir(directory.path())
        .unwrap()
        .flatten()
        .next()
        .unwrap()
        .path();
    let bytes = std::fs::read(&trace).unwrap();
    std::fs::write(&trace, &bytes[..bytes.len() / 2]).unwrap();
    let output = refsan(&["report", &trace.display().to_string()], directory.path());
    assert_ends(&output, 0, &[]);
    std::fs::write(&trace, &bytes[..100]).unwrap();
    let output = refsan(&["report", &trace.display().to_string()], directory.path());
    assert_ends(&output, 2, &["not a refsan trace"]);
}

#[test]
fn outputs_are_checked_before_the_program_runs() {
    let directory = scratch();
    let run = |more: &[&str]| {
        let mut arguments = vec!["run"];
        arguments.extend(more);
        arguments.extend(["--", "touch", "ran"]);
        refsan(&arguments, directory.path())
    };
    std::fs::write(directory.path().join("report.json"), "precious").unwrap();
    assert_ends(
        &run(&["--format", "json=report.json"]),
        2,
        &["report.json", "--force"],
    );
    assert_ends(
        &run(&["-o", "no/such/directory/file"]),
        2,
        &["cannot write"],
    );
    assert_ends(
        &run(&["--trace-dir", "/proc/refsan"]),
        2,
        &["cannot write traces", "--trace-dir"],
    );
    assert!(!directory.path().join("ran").exists());
    let kept = std::fs::read(directory.path().join("report.json")).unwrap();
    assert_eq!(kept, b"precious");
}

#[test]
fn a_runtime_that_cannot_be_placed_is_told_with_every_place_tried() {
    let directory = scratch();
    let odd = directory.path().join("with space");
    std::fs::create_dir(&odd).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_refsan"))
        .args([
            "run",
            "--trace-dir",
            &odd.display().to_string(),
            "--",
            "true",
        ])
        .env("REFSAN_CACHE_DIR", odd.join("cache"))
        .output()
        .unwrap();
    assert_ends(
        &output,
        2,
        &["runtime library", "space", "REFSAN_CACHE_DIR"],
    );
}

#[test]
fn a_read_only_working_directory_does_not_matter() {
    let Some(python) = python() else { return };
    let interpreter = python.path.display().to_string();
    let output = refsan(
        &["run", "--", &interpreter, "-c", "print('done')"],
        Path::new("/proc/self"),
    );
    assert_ends(&output, 0, &["no finding"]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "done\n");
}

#[test]
fn a_full_disk_costs_the_watch_and_nothing_else() {
    let Some(python) = python() else { return };
    let directory = scratch();
    let script = "mount -t tmpfs -o size=64k refsan-test \"$1\" && shift && exec \"$@\"";
    let output = Command::new("unshare")
        .args(["--mount", "--map-root-user", "sh", "-c", script, "sh"])
        .arg(directory.path())
        .arg(env!("CARGO_BIN_EXE_refsan"))
        .args(["run", "--trace-dir"])
        .arg(directory.path())
        .arg("--")
        .arg(&python.path)
        .args(["-c", "print('done')"])
        .output();
    match output {
        Ok(output)
            if !message(&output).contains("mount:") && !message(&output).contains("unshare:") =>
        {
            assert_ends(&output, 3, &["no room on the disk", "not in force"]);
            assert_eq!(String::from_utf8_lossy(&output.stdout), "done\n");
        }
        other => println!("skipped: no private mount here: {other:?}"),
    }
}

#[test]
fn a_limit_on_the_size_of_files_does_not_kill_the_program() {
    let Some(python) = python() else { return };
    let directory = scratch();
    let run = |limit: &str| {
        Command::new("sh")
            .args(["-c", &format!("{limit} exec \"$@\""), "sh"])
            .arg(env!("CARGO_BIN_EXE_refsan"))
            .arg("run")
            .arg("--")
            .arg(&python.path)
            .args(["-c", "print('done')"])
            .env("REFSAN_CACHE_DIR", directory.path())
            .output()
            .unwrap()
    };
    // The runtime library is larger than the limit, and in its place afterwards.
    assert_ends(&run(""), 0, &["no finding"]);
    let output = run("ulimit -f 100;");
    assert_ends(&output, 3, &["no room on the disk"]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "done\n");
}

#[test]
fn options_that_the_runtime_does_not_know_are_named() {
    let Some(python) = python() else { return };
    let run = |options: &str| {
        Command::new(env!("CARGO_BIN_EXE_refsan"))
            .arg("run")
            .arg("--")
            .arg(&python.path)
            .args(["-c", "pass"])
            .env("REFSAN_OPTIONS", options)
            .output()
            .unwrap()
    };
    assert_ends(&run("smaples=4:stack_kib=8"), 0, &["smaples=4", "help=1"]);
    assert_ends(&run("help=1"), 0, &["stack_kib", "halt_on_error"]);
}

#[test]
fn a_program_that_runs_too_long_is_ended() {
    let Some(python) = python() else { return };
    let directory = scratch();
    let interpreter = python.path.display().to_string();
    let code = "import time; time.sleep(60)";
    let arguments = ["run", "--timeout", "1", "--", &interpreter, "-c", code];
    assert_ends(
        &refsan(&arguments, directory.path()),
        128 + 15,
        &["--timeout"],
    );
}
