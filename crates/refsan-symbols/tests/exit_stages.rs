//! Tells how far an exit had come, with the C library of this machine and without its symbols.

mod program;

use program::{Workshop, functions};
use refsan_symbols::{ExitStage, Symbolizer};

fn build() -> Workshop {
    let workshop = Workshop::new();
    let flags = ["-O2", "-g"];
    workshop.compile("cc", &["exit_stages.c", "capture.c"], &flags, "stages");
    workshop.run("stages");
    workshop
}

fn stage(workshop: &Workshop, label: &str) -> Option<ExitStage> {
    let snapshot = workshop.snapshot(label);
    let mut symbolizer = Symbolizer::with_debug_directories(Vec::new());
    let unwound = symbolizer.unwind(&snapshot.trace, &snapshot.stack);
    symbolizer.exit_stage(&snapshot.trace, &unwound.addresses)
}

#[test]
fn every_stage_is_recognized() {
    let workshop = build();
    for (label, expected) in [
        ("main", None),
        ("thread", None),
        ("thread-end", Some(ExitStage::ThreadExit)),
        ("thread-specific", Some(ExitStage::ThreadSpecificData)),
        ("thread-local", Some(ExitStage::ThreadLocalDestructor)),
        (
            "thread-local-by-jump",
            Some(ExitStage::ThreadLocalDestructor),
        ),
        ("atexit", Some(ExitStage::ExitHandler)),
        ("atexit-by-jump", Some(ExitStage::ExitHandler)),
        ("cxa-atexit", Some(ExitStage::ExitHandler)),
        ("fini-array", Some(ExitStage::LoaderFini)),
    ] {
        assert_eq!(stage(&workshop, label), expected, "{label}");
    }
}

#[test]
fn the_objects_of_cpp_are_recognized() {
    if !Workshop::has_cpp() {
        return;
    }
    let workshop = Workshop::new();
    workshop.compile("cc", &["capture.c"], &["-O2", "-c"], "capture.o");
    let sources = ["exit_objects.cpp", "capture.o"];
    workshop.compile("c++", &sources, &["-O2", "-g"], "objects");
    workshop.run("objects");
    for (label, expected) in [
        ("thread-object", ExitStage::ThreadExit),
        ("thread-local-object", ExitStage::ThreadLocalDestructor),
        ("function-static", ExitStage::ExitHandler),
        ("static-object", ExitStage::ExitHandler),
    ] {
        assert_eq!(stage(&workshop, label), Some(expected), "{label}");
    }
}

#[test]
fn a_stack_that_was_cut_tells_no_more_than_it_shows() {
    let workshop = build();
    let snapshot = workshop.snapshot("thread-local");
    let mut symbolizer = Symbolizer::with_debug_directories(Vec::new());
    let addresses = symbolizer
        .unwind(&snapshot.trace, &snapshot.stack)
        .addresses;
    // `destroy` and `__call_tls_dtors`: of a thread or of the process?
    assert_eq!(
        symbolizer.exit_stage(&snapshot.trace, &addresses[..2]),
        None
    );
    assert_eq!(symbolizer.exit_stage(&snapshot.trace, &[]), None);
    let whole = symbolizer.exit_stage(&snapshot.trace, &addresses[..3]);
    assert_eq!(whole, Some(ExitStage::ThreadLocalDestructor));
}

#[test]
fn the_functions_of_the_c_library_are_named() {
    let workshop = build();
    let runs = |label: &str| {
        let (frames, unwound) = workshop.snapshot(label).frames();
        assert!(!unwound.truncated, "{label}");
        let mut names = functions(&frames);
        // Before version 2.34 `__libc_start_main` called `main` itself.
        names.retain(|name| *name != "__libc_start_call_main");
        names.join(" ")
    };
    let main = "__libc_start_main _start";
    let exit = format!("__run_exit_handlers exit {main}");
    assert_eq!(
        runs("thread-local"),
        format!("destroy __call_tls_dtors {exit}")
    );
    assert_eq!(runs("atexit"), format!("handle_exit {exit}"));
    assert_eq!(runs("cxa-atexit"), format!("destroy {exit}"));
    assert!(runs("fini-array").ends_with(&format!("_dl_fini {exit}")));
    assert!(runs("main").ends_with(main));
    assert!(runs("thread-end").starts_with("destroy __call_tls_dtors start_thread"));
    assert!(runs("thread-specific").starts_with("destroy __nptl_deallocate_tsd start_thread"));
    let thread = runs("thread");
    assert!(["work start_thread clone3", "work start_thread clone"].contains(&&*thread));
}

/// Where the distribution's debug symbols are installed, they must say the same.
#[test]
fn debug_symbols_agree() {
    let workshop = build();
    let mut compared = 0;
    for label in [
        "thread-local",
        "atexit",
        "fini-array",
        "thread-end",
        "thread-specific",
    ] {
        let snapshot = workshop.snapshot(label);
        let (guessed, unwound) = snapshot.frames();
        let mut symbolizer = Symbolizer::new();
        for address in &unwound.addresses {
            let frames = symbolizer.frames(&snapshot.trace, *address, true);
            let Some(known) = frames.last().filter(|frame| frame.line.is_some()) else {
                continue;
            };
            let same = |frame: &&refsan_model::Frame| {
                frame.offset == known.offset && frame.module == known.module && !frame.inlined
            };
            let guessed = guessed.iter().find(same).expect("the same frame");
            if let (Some(guessed), Some(known)) = (&guessed.function, &known.function) {
                // The debug information has the name in the source: `__GI_exit` for `exit`.
                let known = known.trim_start_matches("__GI_").trim_end_matches("_impl");
                assert_eq!(guessed, known, "{label}");
                compared += 1;
            }
        }
    }
    println!("compared {compared} names");
}
