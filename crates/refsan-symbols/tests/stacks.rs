//! Unwinds and names the stacks of real programs, built in the ways that programs are.

mod program;

use program::{Workshop, functions, line};
use refsan_model::SymbolQuality;
use refsan_symbols::Symbolizer;

fn assert_calls(flags: &[&str]) {
    let workshop = Workshop::new();
    workshop.compile("cc", &["calls.c", "capture.c"], flags, "calls");
    workshop.run("calls");
    let (frames, unwound) = workshop.snapshot("calls").frames();
    let names = functions(&frames);
    assert_eq!(
        &names[..4],
        ["inlined", "inner", "outer", "main"],
        "{flags:?}"
    );
    assert_eq!(names.last(), Some(&"_start"), "{names:?}");
    assert!(!unwound.truncated);
    assert_eq!(
        unwound.addresses.len() + 1,
        frames.len(),
        "one frame is inlined"
    );
    for (index, name) in ["inlined", "inner", "outer", "main"].iter().enumerate() {
        let frame = &frames[index];
        assert_eq!(
            frame.line,
            Some(line("calls.c", &format!("line of {name}")))
        );
        assert!(
            frame
                .file
                .as_deref()
                .is_some_and(|file| file.ends_with("calls.c"))
        );
        assert_eq!(frame.inlined, index == 0);
        assert_eq!(frame.module.as_deref(), Some("calls"));
        assert!(frame.watched && !frame.own);
    }
    let c_library = &frames[4];
    assert!(!c_library.watched && c_library.module.as_deref() == Some("libc.so.6"));
    assert_eq!(frames[0].offset, frames[1].offset);
}

#[test]
fn optimized_with_debug_information() {
    assert_calls(&["-O2", "-g", "-fPIE", "-pie"]);
}

#[test]
fn without_frame_pointers() {
    assert_calls(&["-O2", "-g", "-fomit-frame-pointer"]);
}

#[test]
fn with_frame_pointers() {
    assert_calls(&["-O2", "-g", "-fno-omit-frame-pointer"]);
}

#[test]
fn at_a_fixed_address() {
    assert_calls(&["-O2", "-g", "-fno-pie", "-no-pie"]);
}

#[test]
fn with_compressed_debug_information() {
    assert_calls(&["-O2", "-g", "-gz"]);
}

#[test]
fn without_the_table_of_the_unwind_information() {
    assert_calls(&["-O2", "-g", "-Wl,--no-eh-frame-hdr"]);
}

#[test]
fn with_split_debug_information() {
    assert_calls(&["-O2", "-g", "-gsplit-dwarf"]);
}

#[test]
fn through_a_stripped_library() {
    let workshop = Workshop::new();
    let library = [
        "-O2",
        "-g0",
        "-s",
        "-shared",
        "-fPIC",
        "-fomit-frame-pointer",
    ];
    workshop.compile("cc", &["library.c"], &library, "libcalls.so");
    let directory = format!("-L{}", workshop.path("").display());
    let flags = ["-O2", "-g", &directory, "-lcalls"];
    workshop.compile("cc", &["calls_library.c", "capture.c"], &flags, "calls");
    workshop.run("calls");
    let snapshot = workshop.snapshot("library");
    let (frames, unwound) = snapshot.frames();
    // `hidden` lies beside exported functions: the nearest of them is not its name.
    let names = functions(&frames);
    assert_eq!(&names[..4], ["called_back", "?", "exported_call", "main"]);
    assert!(!unwound.truncated);
    for frame in &frames[1..3] {
        assert_eq!(frame.module.as_deref(), Some("libcalls.so"));
        assert!(frame.offset.is_some() && frame.line.is_none() && frame.file.is_none());
    }
    let mut symbolizer = Symbolizer::with_debug_directories(Vec::new());
    let mut quality = |name: &str| {
        let mut modules = snapshot.trace.modules.iter();
        let module = modules.find(|module| module.path.ends_with(name)).unwrap();
        symbolizer.quality(module)
    };
    assert_eq!(quality("libcalls.so"), SymbolQuality::None);
    assert_eq!(quality("calls"), SymbolQuality::Dwarf);
}

#[test]
fn with_names_only() {
    let workshop = Workshop::new();
    workshop.compile("cc", &["calls.c", "capture.c"], &["-O2", "-g0"], "calls");
    workshop.run("calls");
    let snapshot = workshop.snapshot("calls");
    let (frames, _) = snapshot.frames();
    assert_eq!(&functions(&frames)[..3], ["inner", "outer", "main"]);
    assert!(
        frames
            .iter()
            .all(|frame| frame.line.is_none() && !frame.inlined)
    );
    let mut symbolizer = Symbolizer::with_debug_directories(Vec::new());
    let quality = symbolizer.quality(&snapshot.trace.modules[0]);
    assert_eq!(quality, SymbolQuality::Names);
}

#[test]
fn in_a_stripped_program() {
    let workshop = Workshop::new();
    workshop.compile("cc", &["calls.c", "capture.c"], &["-O2", "-s"], "calls");
    workshop.run("calls");
    let (frames, unwound) = workshop.snapshot("calls").frames();
    assert_eq!(&functions(&frames)[..3], ["?", "?", "?"]);
    assert_eq!(frames[2].module.as_deref(), Some("calls"));
    assert!(!unwound.truncated);
}

#[test]
fn with_a_separate_debug_file() {
    let workshop = Workshop::new();
    workshop.compile("cc", &["calls.c", "capture.c"], &["-O2", "-g"], "calls");
    let objcopy = |arguments: &[&str]| {
        let mut command = std::process::Command::new("objcopy");
        let command = command.args(arguments).current_dir(workshop.path(""));
        assert!(
            command
                .status()
                .expect("objcopy is a part of binutils")
                .success()
        );
    };
    objcopy(&["--only-keep-debug", "calls", "calls.debug"]);
    objcopy(&["--strip-all", "--add-gnu-debuglink=calls.debug", "calls"]);
    workshop.run("calls");
    let snapshot = workshop.snapshot("calls");
    let (frames, _) = snapshot.frames();
    assert_eq!(
        &functions(&frames)[..4],
        ["inlined", "inner", "outer", "main"]
    );
    assert_eq!(frames[3].line, Some(line("calls.c", "line of main")));

    // Another build's debug file must not be believed.
    workshop.compile(
        "cc",
        &["calls_library.c", "library.c", "capture.c"],
        &["-g"],
        "other",
    );
    objcopy(&["--only-keep-debug", "other", "calls.debug"]);
    let (frames, _) = snapshot.frames();
    assert_eq!(&functions(&frames)[..3], ["?", "?", "?"]);
}

#[test]
fn of_classes() {
    if !Workshop::has_cpp() {
        return;
    }
    let workshop = Workshop::new();
    workshop.compile("cc", &["capture.c"], &["-O2", "-c"], "capture.o");
    for flags in [["-O2", "-g"], ["-O1", "-g0"]] {
        workshop.compile("c++", &["classes.cpp", "capture.o"], &flags, "classes");
        workshop.run("classes");
        let (frames, unwound) = workshop.snapshot("classes").frames();
        assert!(!unwound.truncated);
        let names = functions(&frames);
        assert_eq!(names[0], "pool::Store<long>::~Store()", "{names:?}");
        assert!(names[1].starts_with("pool::Engine::drain("), "{names:?}");
        let lambda = names
            .iter()
            .position(|name| name.starts_with("main::{lambda"));
        let call = names
            .iter()
            .position(|name| name.starts_with("call(std::function<int ()>"));
        let main = names.iter().position(|name| *name == "main");
        assert!(call.is_some() && call < main, "{names:?}");
        assert!(lambda.is_none() || lambda < call, "{names:?}");
    }
}

#[test]
fn of_which_a_part_was_recorded() {
    let workshop = Workshop::new();
    workshop.compile("cc", &["calls.c", "capture.c"], &["-O2", "-g"], "calls");
    workshop.run("calls");
    let mut snapshot = workshop.snapshot("calls");
    let (whole, _) = snapshot.frames();
    // `outer` keeps 3000 bytes: what called it lies beyond.
    snapshot.stack.bytes.truncate(2048);
    let (frames, unwound) = snapshot.frames();
    assert!(unwound.truncated);
    assert_eq!(frames[..], whole[..3]);
    snapshot.stack.bytes.clear();
    let (frames, unwound) = snapshot.frames();
    assert!(unwound.truncated);
    assert_eq!(frames[..], whole[..2]);
}

#[test]
fn through_code_without_unwind_information() {
    let workshop = Workshop::new();
    let bare = ["-O2", "-g", "-fno-asynchronous-unwind-tables"];
    let with = |flag| [&bare[..], &[flag, "-c"]].concat();
    workshop.compile("cc", &["capture.c"], &["-O2", "-c"], "capture.o");
    let run = |flag| {
        workshop.compile("cc", &["calls.c"], &with(flag), "calls.o");
        workshop.compile("cc", &["calls.o", "capture.o"], &[], "calls");
        workshop.run("calls");
        workshop.snapshot("calls").frames()
    };
    let (frames, unwound) = run("-fno-omit-frame-pointer");
    assert_eq!(
        &functions(&frames)[..4],
        ["inlined", "inner", "outer", "main"]
    );
    assert!(!unwound.truncated);
    // Without a frame pointer either, the walk must end rather than invent callers.
    let (frames, unwound) = run("-fomit-frame-pointer");
    assert_eq!(&functions(&frames)[..2], ["inlined", "inner"]);
    let known = [
        "outer",
        "main",
        "__libc_start_call_main",
        "__libc_start_main",
        "_start",
    ];
    assert!(
        functions(&frames[2..])
            .iter()
            .all(|name| known.contains(name))
    );
    assert!(unwound.truncated);
}

#[test]
fn through_code_made_at_run_time() {
    let workshop = Workshop::new();
    let sources = ["made_at_run_time.c", "capture.c"];
    workshop.compile("cc", &sources, &["-O2", "-g"], "made");
    workshop.run("made");
    let (frames, unwound) = workshop.snapshot("made").frames();
    assert_eq!(&functions(&frames)[..3], ["called_back", "?", "main"]);
    assert_eq!(frames[1], refsan_model::Frame::default());
    assert!(!unwound.truncated);
}

#[test]
fn of_a_signal_handler() {
    let workshop = Workshop::new();
    let sources = ["signal_handler.c", "capture.c"];
    workshop.compile("cc", &sources, &["-O2", "-g"], "signal");
    workshop.run("signal");
    let (frames, unwound) = workshop.snapshot("signal").frames();
    let names = functions(&frames);
    assert!(!unwound.truncated, "{names:?}");
    let interrupted = names.iter().position(|name| *name == "interrupted");
    let interrupted = interrupted.expect("the interrupted function");
    assert_eq!(names[interrupted - 1], "__restore_rt");
    assert_eq!(names[interrupted + 1], "main");
    let expected = line("signal_handler.c", "line of interrupted");
    assert_eq!(frames[interrupted].line, Some(expected));
}

#[test]
fn through_a_function_that_aligns_its_stack() {
    let workshop = Workshop::new();
    let flags = ["-O2", "-g", "-fomit-frame-pointer"];
    workshop.compile("cc", &["aligned.c", "capture.c"], &flags, "aligned");
    workshop.run("aligned");
    let (frames, unwound) = workshop.snapshot("aligned").frames();
    assert_eq!(
        &functions(&frames)[..4],
        ["use", "aligned", "middle", "main"]
    );
    assert!(!unwound.truncated);
}
