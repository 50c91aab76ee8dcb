//! `refsan doctor` on interpreters, and on what is none.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use refsan_testkit::{Ending, Interpreter, Outcome, Skip, run_bounded};

fn doctor(arguments: &[&Path], prepare: impl FnOnce(&mut Command)) -> Outcome {
    let mut command = Command::new(env!("CARGO_BIN_EXE_refsan"));
    command.arg("doctor").args(arguments);
    prepare(&mut command);
    run_bounded(&mut command, Duration::from_secs(300)).unwrap()
}

/// The line about a file.
fn line<'a>(outcome: &'a Outcome, about: &Path) -> &'a str {
    let about = about.to_str().unwrap();
    let found = outcome.stdout.lines().find(|line| line.contains(about));
    found.unwrap_or_else(|| panic!("no line about {about}: {outcome}"))
}

/// Another process writes the file: a descriptor open for writing here could slip into a child
/// that another test starts, and the file would be busy when it is to be executed.
fn executable(directory: &Path, name: &str, text: &str) -> PathBuf {
    let path = directory.join(name);
    let mut write = Command::new("sh");
    write.args(["-c", "printf %s \"$0\" > \"$1\" && chmod +x \"$1\"", text]);
    assert!(write.arg(&path).status().unwrap().success());
    path
}

#[test]
fn every_interpreter_can_be_watched() {
    let all = Interpreter::all();
    if all.is_empty() {
        return;
    }
    let paths: Vec<&Path> = all.iter().map(|one| one.path.as_path()).collect();
    let outcome = doctor(&paths, |_| {});
    assert_eq!(outcome.ending, Ending::Exited(0), "{outcome}");
    for interpreter in all {
        let line = line(&outcome, &interpreter.path);
        assert!(line.contains(&interpreter.version.to_string()), "{outcome}");
        assert!(line.contains("the hooks come into force"), "{outcome}");
    }
    let count = all.len();
    let last = format!("{count} of {count} interpreters can be watched");
    assert!(outcome.stdout.contains(&last), "{outcome}");
}

#[test]
fn a_script_that_is_no_python_is_a_problem() {
    let directory = tempfile::tempdir().unwrap();
    let fake = executable(
        directory.path(),
        "python3",
        "#!/bin/sh\necho 'I am no Python' >&2\n",
    );
    let outcome = doctor(&[&fake], |_| {});
    assert_eq!(outcome.ending, Ending::Exited(3), "{outcome}");
    let line = line(&outcome, &fake);
    assert!(line.trim_start().starts_with("problem"), "{line}");
    assert!(line.contains("I am no Python"), "{line}");
}

#[test]
fn a_missing_file_is_a_problem_and_does_not_hide_an_interpreter() {
    let missing = Path::new("/no/such/python3");
    let outcome = doctor(&[missing], |_| {});
    assert_eq!(outcome.ending, Ending::Exited(3), "{outcome}");
    assert!(
        line(&outcome, missing).contains("no such file"),
        "{outcome}"
    );
    let Some(interpreter) = Interpreter::all().first() else {
        return;
    };
    let outcome = doctor(&[missing, &interpreter.path], |_| {});
    assert_eq!(outcome.ending, Ending::Exited(0), "{outcome}");
    assert!(outcome.stdout.contains("1 of 2 interpreters"), "{outcome}");
}

#[test]
fn a_static_program_is_told_from_its_file() {
    let directory = tempfile::tempdir().unwrap();
    let source = directory.path().join("program.c");
    std::fs::write(&source, "int main(void) { return 0; }\n").unwrap();
    let program = directory.path().join("program");
    let mut compiler = Command::new("cc");
    compiler.arg("-static").arg(&source).arg("-o").arg(&program);
    if !compiler
        .output()
        .is_ok_and(|output| output.status.success())
    {
        Skip::new(
            "refsan doctor on a static program",
            "cc -static does not work: install gcc and libc6-dev",
        )
        .print();
        return;
    }
    let outcome = doctor(&[&program], |_| {});
    assert_eq!(outcome.ending, Ending::Exited(3), "{outcome}");
    assert!(
        line(&outcome, &program).contains("statically linked"),
        "{outcome}"
    );
}

#[test]
fn an_empty_path_holds_no_interpreter() {
    let directory = tempfile::tempdir().unwrap();
    let outcome = doctor(&[], |command| {
        command.env("PATH", directory.path());
    });
    assert_eq!(outcome.ending, Ending::Exited(3), "{outcome}");
    assert!(
        outcome.stdout.contains("no Python interpreter in PATH"),
        "{outcome}"
    );
}

#[test]
fn interpreters_in_path_are_examined_once() {
    let Some(interpreter) = Interpreter::all().first() else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    for name in ["python", "python3"] {
        std::os::unix::fs::symlink(&interpreter.path, directory.path().join(name)).unwrap();
    }
    // A version manager's stand-in for a version that is not there.
    executable(
        directory.path(),
        "python3.9",
        "#!/bin/sh\necho 'not chosen' >&2; exit 127\n",
    );
    let outcome = doctor(&[], |command| {
        command.env("PATH", directory.path());
    });
    assert_eq!(outcome.ending, Ending::Exited(0), "{outcome}");
    assert!(outcome.stdout.contains("1 of 1 interpreters"), "{outcome}");
    let stand_in = line(&outcome, &directory.path().join("python3.9"));
    assert!(stand_in.trim_start().starts_with("warning"), "{outcome}");
    assert!(stand_in.contains("not chosen"), "{outcome}");
}

#[test]
fn the_environment_is_told() {
    let outcome = doctor(&[Path::new("/no/such/python3")], |command| {
        command
            .env("LD_PRELOAD", "libm.so.6")
            .env("REFSAN_OPTION", "help=1")
            .env("REFSAN_TRACE_DIR", "/proc/refsan-traces")
            .env("REFSAN_CACHE_DIR", "/proc/refsan-cache");
    });
    assert_eq!(outcome.ending, Ending::Exited(3), "{outcome}");
    for (state, text) in [
        ("warning", "LD_PRELOAD is libm.so.6"),
        ("warning", "REFSAN_OPTION is help=1"),
        (
            "warning",
            "runtime library: the cache directory cannot be used",
        ),
        (
            "problem",
            "traces: cannot write traces to /proc/refsan-traces",
        ),
    ] {
        let found = outcome.stdout.lines().find(|line| line.contains(text));
        let found = found.unwrap_or_else(|| panic!("{text} in {outcome}"));
        assert!(found.trim_start().starts_with(state), "{outcome}");
    }
}

#[test]
fn a_wrong_option_is_wrong_usage() {
    let outcome = doctor(&[Path::new("--no-such-option")], |_| {});
    assert_eq!(outcome.ending, Ending::Exited(2), "{outcome}");
}
