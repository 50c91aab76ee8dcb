//! Reports to render.

mod coverage;
mod hostile;

pub use coverage::{module, process, skipped, troubled, unwatched};
pub use hostile::hostile;
use refsan_model::{
    Confidence, Coverage, Finding, Fingerprint, Frame, Object, Phase, Process, ProcessCoverage,
    Report, RuleId, SCHEMA_VERSION, Severity, Stack, StackKind, StackRole, Step, Thread,
    ThreadState, Timeline,
};
use refsan_rules::{Interpreter, Situation, rule};

pub const MODULE: &str = "_core.cpython-311-x86_64-linux-gnu.so";
pub const MODULE_PATH: &str =
    "/opt/venv/lib/python3.11/site-packages/mypkg/_core.cpython-311-x86_64-linux-gnu.so";

/// A frame of the watched module with a source line.
pub fn watched(function: &str, file: &str, line: u32) -> Frame {
    Frame {
        function: Some(function.into()),
        module: Some(MODULE.into()),
        offset: Some(0x1_2340 + u64::from(line)),
        file: Some(file.into()),
        line: Some(line),
        watched: true,
        ..Frame::default()
    }
}

/// A frame of another binary without a source line.
pub fn other(function: Option<&str>, module: &str, offset: u64) -> Frame {
    Frame {
        function: function.map(Into::into),
        module: Some(module.into()),
        offset: Some(offset),
        ..Frame::default()
    }
}

/// A frame of Python code.
pub fn python(function: &str, file: &str, line: u32) -> Frame {
    Frame {
        function: Some(function.into()),
        file: Some(file.into()),
        line: Some(line),
        ..Frame::default()
    }
}

pub fn stack(role: StackRole, title: &str, frames: Vec<Frame>) -> Stack {
    let kind = match role {
        StackRole::Python | StackRole::OtherThread => StackKind::Python,
        _ => StackKind::Native,
    };
    Stack {
        role,
        kind,
        title: title.into(),
        tid: None,
        frames,
        truncated: false,
    }
}

fn step(name: &str, note: Option<&str>, here: bool) -> Step {
    Step {
        name: name.into(),
        note: note.map(Into::into),
        here,
    }
}

pub fn running() -> Timeline {
    let steps = vec![step("script running", None, true)];
    Timeline {
        phase: Phase::Running,
        milliseconds: 412,
        steps,
    }
}

pub fn exit_handlers() -> Timeline {
    Timeline {
        phase: Phase::Finalized,
        milliseconds: 2_310,
        steps: vec![
            step("script end", None, false),
            step("atexit callbacks", Some("2 ms"), false),
            step("finalized", None, false),
            step("exit handlers", None, true),
        ],
    }
}

pub fn finalizing() -> Timeline {
    Timeline {
        phase: Phase::Finalizing,
        milliseconds: 1_020,
        steps: vec![
            step("script end", None, false),
            step("atexit callbacks", None, false),
            step("finalizing", None, true),
        ],
    }
}

/// A finding of `id` with no stacks yet.
pub fn finding(id: RuleId, message: &str, call: &str, function: &str, phase: Timeline) -> Finding {
    let state = match phase.phase {
        Phase::Running => ThreadState::Detached,
        Phase::Finalizing => ThreadState::None,
        Phase::Finalized => ThreadState::Gone,
    };
    let interpreter = Interpreter {
        version: (3, 11, 7),
        free_threaded: false,
    };
    let situation = Situation {
        phase: Some(phase.phase),
        state: Some(state),
        call: Some(call),
    };
    let main = phase.phase == Phase::Finalized;
    Finding {
        rule: id,
        name: id.name().into(),
        severity: Severity::Error,
        confidence: Confidence::Observed,
        message: message.into(),
        count: 1,
        process: Process {
            pid: 4700,
            program: "python app.py".into(),
            python: "3.11.7".into(),
        },
        thread: Thread {
            tid: if main { 4700 } else { 4711 },
            name: if main { "python" } else { "pool-3" }.into(),
            main,
            state,
        },
        phase,
        object: None,
        call: call.into(),
        module: MODULE.into(),
        module_path: MODULE_PATH.into(),
        function: Some(function.into()),
        function_note: None,
        consequence: rule(id).consequence(interpreter, situation).map(Into::into),
        cure: rule(id).cure.into(),
        stacks: Vec::new(),
        fingerprint: Fingerprint::of([id.code(), "mypkg", function]),
    }
}

/// A detached worker that releases a dict, with all kinds of stacks.
pub fn release_without_thread_state() -> Finding {
    let mut own = other(Some("refsan_dealloc"), "librefsan_runtime.so", 0x99);
    own.own = true;
    let mut inlined = watched("Py_DECREF", "/usr/include/python3.11/object.h", 537);
    inlined.inlined = true;
    let interpreter = "libpython3.11.so.1.0";
    let thread_start = vec![
        other(Some("start_thread"), "libc.so.6", 0x8_9134),
        other(Some("clone3"), "libc.so.6", 0x10_97dc),
    ];
    let mut released = vec![
        own,
        inlined,
        watched("mypkg::Pool::drain()", "src/_core.cpp", 88),
        watched(
            "mypkg::Pool::run(std::function<void (std::vector<std::pair<int, std::string>, \
             std::allocator<std::pair<int, std::string>>> const&)>)",
            "src/_core.cpp",
            71,
        ),
        other(
            Some("std::execute_native_thread_routine"),
            "libstdc++.so.6",
            0xd_44a3,
        ),
    ];
    released.extend(thread_start);
    let mut detached = vec![
        other(Some("PyEval_SaveThread"), interpreter, 0x1f_0010),
        watched("mypkg::wait(_object*, _object*)", "src/_core.cpp", 80),
    ];
    detached
        .extend((0..7).map(|n| other(Some("_PyEval_EvalFrameDefault"), interpreter, 0x100 * n)));
    detached.push(other(Some("main"), "python3.11", 0x1010));

    let mut finding = finding(
        RuleId::ReleaseWithoutThreadState,
        "last reference to a `dict` released with the thread state detached",
        "_Py_Dealloc",
        "mypkg::Pool::drain()",
        running(),
    );
    finding.count = 3_120;
    finding.object = Some(Object {
        type_name: Some("dict".into()),
        other_types: vec!["list".into()],
        last_reference: true,
    });
    finding.function_note = Some("in or below it: the call is a tail call".into());
    let mut worker = stack(
        StackRole::Python,
        "the thread's Python code",
        (1..9)
            .map(|n| python(&format!("step_{n}"), "mypkg/pool.py", 10 * n))
            .collect(),
    );
    worker.tid = Some(4711);
    let mut main = stack(
        StackRole::OtherThread,
        "thread 4700 was running",
        vec![
            python("wait", "/usr/lib/python3.11/threading.py", 320),
            python("<module>", "app.py", 12),
        ],
    );
    main.tid = Some(4700);
    finding.stacks = vec![
        stack(
            StackRole::Released,
            "and released the object here",
            released,
        ),
        stack(
            StackRole::Detached,
            "thread \"pool-3\" (tid 4711) detached here",
            detached,
        ),
        worker,
        main,
    ];
    finding
}

/// A leaf function called by a native thread: a warning, without symbols.
pub fn call_without_thread_state() -> Finding {
    let mut finding = finding(
        RuleId::CallWithoutThreadState,
        "PyList_Size called on a thread that has no thread state",
        "PyList_Size",
        "",
        running(),
    );
    finding.severity = Severity::Warning;
    finding.function = None;
    finding.thread.state = ThreadState::None;
    let mut frame = other(None, MODULE, 0x2f10);
    frame.watched = true;
    let mut called = stack(
        StackRole::Called,
        "PyList_Size was called here",
        vec![frame, other(Some("start_thread"), "libc.so.6", 0x8_9134)],
    );
    called.truncated = true;
    finding.stacks = vec![called];
    finding
}

/// A static destructor that releases an object whose memory is gone.
pub fn release_after_finalization() -> Finding {
    let mut finding = finding(
        RuleId::ReleaseAfterFinalization,
        "an object released after the interpreter was finalized",
        "_Py_Dealloc",
        "mypkg::Registry::~Registry()",
        exit_handlers(),
    );
    finding.object = Some(Object {
        type_name: None,
        other_types: vec![],
        last_reference: true,
    });
    finding.stacks = vec![stack(
        StackRole::Released,
        "the object was released here",
        vec![
            watched("mypkg::Registry::~Registry()", "src/registry.cpp", 19),
            other(Some("__run_exit_handlers"), "libc.so.6", 0x4_055d),
            other(Some("exit"), "libc.so.6", 0x4_069a),
            other(Some("__libc_start_call_main"), "libc.so.6", 0x2_7251),
            other(Some("__libc_start_main"), "libc.so.6", 0x2_7305),
            other(Some("_start"), "python3.11", 0x1061),
        ],
    )];
    finding
}

pub fn call_after_finalization() -> Finding {
    let mut finding = finding(
        RuleId::CallAfterFinalization,
        "PyErr_Clear called after the interpreter was finalized",
        "PyErr_Clear",
        "flush_log",
        exit_handlers(),
    );
    finding.stacks = vec![stack(
        StackRole::Called,
        "PyErr_Clear was called here",
        vec![
            watched("flush_log", "src/log.c", 44),
            other(Some("__run_exit_handlers"), "libc.so.6", 0x4_055d),
        ],
    )];
    finding
}

pub fn attach_during_finalization() -> Finding {
    let mut finding = finding(
        RuleId::AttachDuringFinalization,
        "a thread asked for its thread state while the interpreter is finalized, and never got it",
        "PyGILState_Ensure",
        "mypkg::Worker::notify(int)",
        finalizing(),
    );
    let mut others: Vec<Stack> = (0..5)
        .map(|n| {
            let frames = vec![python(
                "_shutdown",
                "/usr/lib/python3.11/threading.py",
                1590 + n,
            )];
            stack(
                StackRole::OtherThread,
                &format!("thread {} was running", 4700 + n),
                frames,
            )
        })
        .collect();
    finding.stacks = vec![stack(
        StackRole::Attached,
        "the thread asked for its thread state here",
        vec![
            watched("mypkg::Worker::notify(int)", "src/worker.cpp", 130),
            other(Some("start_thread"), "libc.so.6", 0x8_9134),
        ],
    )];
    finding.stacks.append(&mut others);
    finding
}

/// One finding of each rule.
pub fn each_rule() -> Vec<Finding> {
    vec![
        release_without_thread_state(),
        release_after_finalization(),
        call_after_finalization(),
        attach_during_finalization(),
        call_without_thread_state(),
    ]
}

pub fn report(findings: Vec<Finding>, processes: Vec<ProcessCoverage>) -> Report {
    Report {
        schema_version: SCHEMA_VERSION,
        tool_version: "0.1.0".into(),
        findings,
        coverage: Coverage { processes },
    }
}
