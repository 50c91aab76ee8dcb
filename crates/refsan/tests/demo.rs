//! `refsan demo` on every interpreter of this machine, and where something is missing.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use refsan_testkit::{Ending, Interpreter, Outcome, Skip, run_bounded};

fn refsan(arguments: &[&str], variables: &[(&str, &str)]) -> Outcome {
    let mut command = Command::new(env!("CARGO_BIN_EXE_refsan"));
    command.args(arguments).envs(variables.iter().copied());
    run_bounded(&mut command, Duration::from_secs(200)).unwrap()
}

fn has_compiler() -> bool {
    let found = Command::new("cc").arg("--version").output().is_ok();
    if !found {
        Skip::new("refsan demo", "no C compiler: install gcc").print();
    }
    found
}

fn path(interpreter: &Interpreter) -> &str {
    interpreter.path.to_str().expect("a path in UTF-8")
}

/// An interpreter that the demo supports.
fn any() -> Option<&'static Interpreter> {
    let found = Interpreter::all().iter().find(|one| !one.free_threaded);
    if found.is_none() {
        Skip::new("refsan demo", "no interpreter").print();
    }
    found
}

#[test]
fn both_faults_are_shown_on_every_interpreter() {
    if !has_compiler() {
        return;
    }
    // The programs sleep most of the time.
    for some in Interpreter::all().chunks(3) {
        std::thread::scope(|scope| {
            for interpreter in some {
                scope.spawn(move || shown_on(interpreter));
            }
        });
    }
}

fn shown_on(interpreter: &Interpreter) {
    let outcome = refsan(&["demo", "--python", path(interpreter)], &[]);
    let seen = format!("{interpreter}: {outcome}");
    if interpreter.free_threaded {
        assert_eq!(outcome.ending, Ending::Exited(2), "{seen}");
        assert!(outcome.stderr.contains("free-threaded"), "{seen}");
        return;
    }
    assert_eq!(outcome.ending, Ending::Exited(0), "{seen}");
    for line in [
        "RS201 release-after-finalization: in leave_all, extension.c:",
        "RS101 release-without-thread-state: in release_input, extension.c:",
        "error[RS201]",
    ] {
        assert!(outcome.stdout.contains(line), "{line} in {seen}");
    }
    let count = |text: &str| outcome.stdout.matches(text).count();
    assert_eq!(count("bare          died by SIG"), 2, "{seen}");
    let cured = "cured         exit status 0; under refsan exit status 0, no finding";
    assert_eq!(count(cured), 2, "{seen}");
}

#[test]
fn a_demonstration_that_fails_says_so() {
    let (true, Some(interpreter)) = (has_compiler(), any()) else {
        return;
    };
    // Without its faults the extension cannot show them.
    let arguments = ["demo", "--python", path(interpreter)];
    let outcome = refsan(&arguments, &[("CC", "cc -DCURED")]);
    assert_eq!(outcome.ending, Ending::Exited(1), "{outcome}");
    assert!(outcome.stderr.contains("it should crash"), "{outcome}");
    assert!(outcome.stderr.contains("RS201 in leave_all"), "{outcome}");
}

#[test]
fn a_missing_compiler_is_told_with_what_to_install() {
    let Some(interpreter) = any() else { return };
    for compiler in ["/no/such/compiler", "false"] {
        let arguments = ["demo", "--python", path(interpreter)];
        let outcome = refsan(&arguments, &[("CC", compiler)]);
        assert_eq!(outcome.ending, Ending::Exited(2), "{outcome}");
        assert!(outcome.stderr.contains(compiler), "{outcome}");
        assert!(outcome.stderr.contains("apt install gcc"), "{outcome}");
    }
}

#[test]
fn a_missing_interpreter_is_told_with_what_to_install() {
    for python in ["/no/such/python", "/bin/echo"] {
        let outcome = refsan(&["demo", "--python", python], &[]);
        assert_eq!(outcome.ending, Ending::Exited(2), "{outcome}");
        assert!(outcome.stderr.contains(python), "{outcome}");
        assert!(outcome.stderr.contains("apt install python3"), "{outcome}");
    }
}

#[test]
fn a_missing_place_for_files_is_told() {
    let outcome = refsan(&["demo"], &[("TMPDIR", "/no/such/directory")]);
    assert_eq!(outcome.ending, Ending::Exited(2), "{outcome}");
    assert!(outcome.stderr.contains("set TMPDIR"), "{outcome}");
}

#[test]
fn nothing_is_left_behind() {
    let (true, Some(interpreter)) = (has_compiler(), any()) else {
        return;
    };
    let place = tempfile::tempdir().unwrap();
    let text = place.path().to_str().expect("a path in UTF-8");
    let arguments = ["demo", "--python", path(interpreter)];
    let outcome = refsan(&arguments, &[("TMPDIR", text), ("REFSAN_FORMAT", "json=x")]);
    assert_eq!(outcome.ending, Ending::Exited(0), "{outcome}");
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0);
    assert!(!Path::new("x").exists());
}
