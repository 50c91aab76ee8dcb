//! What is read from real interpreters is what they and `faulthandler` say.

mod support;

use refsan_interpreter::{
    Ending, Frame, Layout, Memory, Thread, ThreadVisitor, Version, for_each_frame, for_each_thread,
    object_type_name, reference_count,
};
use std::collections::BTreeMap;
use std::path::Path;
use support::{Program, interpreters};

const PROGRAM: &str = "nested.py";

#[derive(Clone, Debug, PartialEq)]
struct Seen {
    filename: String,
    function: String,
    line: u32,
}

fn seen(frame: &Frame<'_>) -> Seen {
    Seen {
        filename: frame.filename.to_owned(),
        function: frame.function.to_owned(),
        line: frame.line,
    }
}

#[derive(Default)]
struct Collector {
    limit: u32,
    threads: Vec<(Thread, Vec<Seen>, Option<Ending>)>,
}

impl ThreadVisitor for Collector {
    fn thread(&mut self, thread: &Thread) -> u32 {
        self.threads.push((*thread, Vec::new(), None));
        self.limit
    }

    fn frame(&mut self, frame: &Frame<'_>) {
        self.threads.last_mut().unwrap().1.push(seen(frame));
    }

    fn frames_end(&mut self, ending: Ending) {
        self.threads.last_mut().unwrap().2 = Some(ending);
    }
}

/// What the program wrote of itself.
struct Expected {
    version: Version,
    main: u64,
    objects: Vec<(u64, String)>,
    /// Those that nothing frees.
    leaked: Vec<(u64, String)>,
    counted: u64,
    none: u64,
    /// By thread: line and name of each frame, as `faulthandler` prints them.
    stacks: BTreeMap<u64, Vec<(u32, String)>>,
}

fn expected(output: &str) -> Expected {
    let mut result = Expected {
        version: Version::from_hex(0, false),
        main: 0,
        objects: Vec::new(),
        leaked: Vec::new(),
        counted: 0,
        none: 0,
        stacks: BTreeMap::new(),
    };
    let mut thread = 0;
    for line in output.lines() {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        match words[..] {
            ["version", hex, free_threaded] => {
                result.version = Version::from_hex(hex.parse().unwrap(), free_threaded == "1");
            }
            ["main", id] => result.main = id.parse().unwrap(),
            ["object", address, name] => {
                result
                    .objects
                    .push((address.parse().unwrap(), name.to_owned()));
            }
            ["leaked", address, name] => {
                result
                    .leaked
                    .push((address.parse().unwrap(), name.to_owned()));
            }
            ["counted", address] => result.counted = address.parse().unwrap(),
            ["none", address] => result.none = address.parse().unwrap(),
            ["Thread", id, ..] => {
                thread = u64::from_str_radix(id.trim_start_matches("0x"), 16).unwrap();
                result.stacks.insert(thread, Vec::new());
            }
            ["File", .., "line", number, "in", name] => {
                let frame = (number.parse().unwrap(), name.to_owned());
                result.stacks.get_mut(&thread).unwrap().push(frame);
            }
            _ => {}
        }
    }
    result
}

/// Line of each `# marker: NAME NUMBER` in the program.
fn markers() -> BTreeMap<String, u32> {
    let source = std::fs::read_to_string(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/nested.py"),
    );
    (1..)
        .zip(source.unwrap().lines())
        .filter_map(|(number, line)| Some((line.split_once("# marker: ")?.1.to_owned(), number)))
        .collect()
}

fn check_threads(memory: &impl Memory, layout: &Layout, runtime: u64, truth: &Expected) {
    let mut all = Collector {
        limit: 1000,
        ..Collector::default()
    };
    assert_eq!(
        for_each_thread(memory, layout, runtime, &mut all),
        Ending::Complete
    );
    let (main, others): (Vec<_>, Vec<_>) = all
        .threads
        .iter()
        .partition(|(thread, ..)| thread.interpreter == 0);

    // The main interpreter: frame by frame what faulthandler says.
    assert_eq!(main.len(), 3);
    assert_eq!(truth.stacks.len(), 3);
    for (thread, frames, ending) in &main {
        assert_eq!(*ending, Some(Ending::Complete));
        let stack = &truth.stacks[&thread.thread_id];
        let lines: Vec<u32> = frames.iter().map(|frame| frame.line).collect();
        assert_eq!(
            lines,
            stack.iter().map(|frame| frame.0).collect::<Vec<_>>(),
            "{frames:#?}"
        );
        for (frame, (_, name)) in frames.iter().zip(stack) {
            let last = frame.function.rsplit('.').next().unwrap();
            let escaped: String = last
                .chars()
                .map(|c| match u32::from(c) {
                    code @ 0..=0x7F => char::from_u32(code).unwrap().to_string(),
                    code @ 0x80..=0xFF => format!("\\x{code:02x}"),
                    code => format!("\\u{code:04x}"),
                })
                .collect();
            assert_eq!(&escaped, name);
        }
        let native = thread.native_thread_id;
        assert_eq!(native.is_some(), truth.version.minor() >= 11);
        assert!(native.is_none_or(|id| id > 0));
    }
    assert!(
        main.iter()
            .any(|(thread, ..)| thread.thread_id == truth.main)
    );

    // The subinterpreter, which faulthandler does not show.
    assert_eq!(others.len(), 1, "{others:#?}");
    let name = if truth.version.minor() >= 14 {
        "<script>"
    } else {
        "<string>"
    };
    let module = Seen {
        filename: name.to_owned(),
        function: "<module>".to_owned(),
        line: 3,
    };
    assert_eq!(others[0].1, [module]);
}

fn check_frames(memory: &impl Memory, layout: &Layout, runtime: u64, program: &Program) {
    let mut all = Collector {
        limit: 5,
        ..Collector::default()
    };
    for_each_thread(memory, layout, runtime, &mut all);
    let script = program.script(PROGRAM);
    let markers = markers();
    let qualified = layout.version.minor() >= 11;

    // The worker's frames, by the marked lines of the source.
    let innermost = |thread: u64| {
        let mut frames = Vec::new();
        let ending = for_each_frame(memory, layout, thread, 1000, &mut |frame| {
            frames.push(seen(frame))
        });
        assert_eq!(ending, Ending::Complete);
        frames.retain(|frame| frame.filename == script);
        frames
    };
    let stacks: Vec<Vec<Seen>> = all
        .threads
        .iter()
        .map(|(thread, ..)| innermost(thread.thread_state))
        .collect();
    let find = |name: &str| {
        stacks
            .iter()
            .find(|stack| stack.iter().any(|frame| frame.function == name))
            .unwrap()
    };
    let worker = find("worker");
    for (function, marker) in [
        (
            if qualified {
                "Widget.blocked"
            } else {
                "blocked"
            },
            "worker 0",
        ),
        (
            if qualified {
                "函数.<locals>.key"
            } else {
                "key"
            },
            "worker 3",
        ),
        ("generate", "worker 6"),
        ("worker", "worker 7"),
    ] {
        let frame = worker
            .iter()
            .find(|frame| frame.function == function)
            .unwrap();
        assert_eq!(frame.line, markers[marker], "{function}");
    }
    assert!(worker.iter().any(|frame| frame.function == "größe"));
    assert_eq!(
        find("isolated").iter().next().unwrap().line,
        markers["isolated"]
    );
    let main = find("recurse");
    assert_eq!(
        main.iter()
            .filter(|frame| frame.line == markers["recursion"])
            .count(),
        20
    );
    let frame = main.iter().find(|frame| frame.function == "main").unwrap();
    assert_eq!(frame.line, markers["main"]);

    // Only as many as were asked for.
    for (thread, frames, ending) in &all.threads {
        let complete = thread.interpreter != 0 || frames.len() < 5;
        assert_eq!(
            *ending,
            Some(if complete {
                Ending::Complete
            } else {
                Ending::Limit
            })
        );
    }
    assert!(all.threads.iter().any(|(_, frames, _)| frames.len() == 5));
}

fn check_objects(memory: &impl Memory, layout: &Layout, truth: &Expected) {
    let mut buffer = [0; 64];
    for (address, name) in &truth.objects {
        let found = object_type_name(memory, &layout.objects, *address, &mut buffer);
        assert_eq!(found, Some(name.as_str()));
        // Neither the middle of an object nor its type's name is an object.
        assert_eq!(
            object_type_name(memory, &layout.objects, address + 1, &mut buffer),
            None
        );
    }
    assert!(truth.objects.len() > 10);
    let mut short = [0; 5];
    let widget = truth
        .objects
        .iter()
        .find(|(_, name)| name == "__main__.Widget")
        .unwrap()
        .0;
    assert_eq!(
        object_type_name(memory, &layout.objects, widget, &mut short),
        Some("__mai")
    );

    let count = reference_count(memory, &layout.objects, truth.counted).unwrap();
    assert!(
        (1000..1010).contains(&count.value) && !count.immortal,
        "{count:?}"
    );
    let none = reference_count(memory, &layout.objects, truth.none).unwrap();
    assert_eq!(none.immortal, truth.version.minor() >= 12, "{none:?}");
    assert!(none.value > 100);
}

fn check_thread_state(memory: &impl Memory, layout: &Layout, runtime: u64) {
    let mut all = Collector::default();
    for_each_thread(memory, layout, runtime, &mut all);
    for (thread, frames, ending) in &all.threads {
        assert!(frames.is_empty() && ending.is_none());
        let word = |offset: u64| {
            let mut bytes = [0; 8];
            assert!(memory.read(thread.thread_state + offset, &mut bytes));
            u64::from_ne_bytes(bytes)
        };
        assert_eq!(word(layout.thread_state.thread_id), thread.thread_id);
        assert_eq!(
            layout.thread_state.native_thread_id.map(word),
            thread.native_thread_id
        );
        assert_ne!(word(layout.thread_state.interp), 0);
    }
}

#[test]
fn threads_frames_and_objects() {
    for interpreter in interpreters() {
        let (program, output) = Program::start(&interpreter.path, PROGRAM, "Timeout");
        let truth = expected(&output);
        let (memory, runtime) = (program.memory(), program.runtime());
        println!(
            "CPython {interpreter}: {} objects, {:?}",
            truth.objects.len(),
            truth.version
        );
        let layout = Layout::select(truth.version, &memory, runtime).unwrap();
        check_threads(&memory, &layout, runtime, &truth);
        check_frames(&memory, &layout, runtime, &program);
        check_objects(&memory, &layout, &truth);
        check_thread_state(&memory, &layout, runtime);
    }
}

#[test]
fn threads_that_run_meanwhile() {
    const FUNCTIONS: [&str; 9] = [
        "deep",
        "wide",
        "produce",
        "made_anew",
        "fresh",
        "worker",
        "<module>",
        "<listcomp>",
        "<lambda>",
    ];
    for interpreter in interpreters() {
        let (program, output) = Program::start(&interpreter.path, "busy.py", "version");
        let version = expected(&output).version;
        let (memory, runtime) = (program.memory(), program.runtime());
        let layout = Layout::select(version, &memory, runtime).unwrap();
        let script = program.script("busy.py");
        let (mut stacks, mut complete, mut frames) = (0, 0, 0);
        let (mut known, mut named) = (0, 0);
        for _ in 0..300 {
            let mut all = Collector {
                limit: 100,
                ..Collector::default()
            };
            for_each_thread(&memory, &layout, runtime, &mut all);
            for (_, stack, ending) in &all.threads {
                stacks += 1;
                complete += usize::from(*ending == Some(Ending::Complete));
                frames += stack.len();
                for frame in stack.iter().filter(|frame| frame.filename == script) {
                    let function = frame.function.rsplit('.').next().unwrap();
                    named += 1;
                    known += usize::from(FUNCTIONS.contains(&function) && frame.line < 50);
                }
            }
        }
        println!("CPython {interpreter}: {complete} of {stacks} stacks complete, {frames} frames");
        // A frame can change between the reading of its code and of the names in it, but seldom.
        assert!(
            complete * 2 > stacks && known * 100 >= named * 99 && known > 1000,
            "{known} {named}"
        );
    }
}

#[test]
fn after_finalization() {
    for interpreter in interpreters() {
        let (program, output) = Program::start(&interpreter.path, "finalized.py", "version");
        program.wait_for_pause();
        let truth = expected(&output);
        let (memory, runtime) = (program.memory(), program.runtime());
        let layout = Layout::select(truth.version, &memory, runtime).unwrap();
        let mut all = Collector {
            limit: 100,
            ..Collector::default()
        };
        let ending = for_each_thread(&memory, &layout, runtime, &mut all);
        assert_eq!(
            (all.threads.len(), ending),
            (0, Ending::Complete),
            "{interpreter}"
        );
        let name_of = |address: u64| {
            let mut buffer = [0; 64];
            object_type_name(&memory, &layout.objects, address, &mut buffer).map(str::to_owned)
        };
        for (address, name) in &truth.objects {
            let found = name_of(*address);
            println!("CPython {interpreter}: a {name} is now {found:?}");
            if matches!(name.as_str(), "NoneType" | "int") {
                assert_eq!(found.as_ref(), Some(name));
            }
        }
        for (address, name) in &truth.leaked {
            let found = name_of(*address);
            println!("CPython {interpreter}: a leaked {name} is now {found:?}");
            let last = found.as_deref().and_then(|found| found.rsplit('.').next());
            assert_eq!(last, Some(name.as_str()));
        }
    }
}
