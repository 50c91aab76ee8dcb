//! A detection with its addresses named.

use refsan_detect::Detection;
use refsan_model::{
    Confidence, Finding, Fingerprint, Frame, Object, Phase, Process, RuleId, Stack, StackKind,
    StackRole, Thread, ThreadState,
};
use refsan_rules::{Interpreter, Situation};
use refsan_symbols::Symbolizer;
use refsan_trace::layout::{event_flags, python_build, thread_state};
use refsan_trace::{Event, Trace};

use super::caller::caller;
use super::identity::{module_identity, stable_function};
use super::message::{cure, message};
use super::timeline::timeline;

/// In-module functions that take part in the fingerprint.
const FINGERPRINT_FRAMES: usize = 3;

/// Names everything in a detection.
pub fn finding(symbolizer: &mut Symbolizer, trace: &Trace, detection: &Detection) -> Finding {
    let event = detection.events.first();
    let stack = event.and_then(|event| {
        trace
            .stacks
            .iter()
            .find(|stack| stack.sequence == event.sequence)
    });
    let unwound = stack.map(|stack| symbolizer.unwind(trace, stack));
    let addresses = unwound.as_ref().map_or_else(
        || vec![detection.return_address],
        |unwound| unwound.addresses.clone(),
    );
    let frames: Vec<Frame> = addresses
        .iter()
        .flat_map(|address| symbolizer.frames(trace, *address, true))
        .skip_while(is_release_macro)
        .collect();
    let stage = symbolizer.exit_stage(trace, &addresses);
    let module = trace.module(detection.module);
    let path = module.map(|module| module.path.clone()).unwrap_or_default();
    let (function, function_note) = caller(symbolizer, trace, detection, &frames);
    let object = object(detection);
    let thread = thread(event, detection.phase);
    let situation = Situation {
        phase: Some(detection.phase),
        state: Some(thread.state),
        call: Some(&detection.call),
    };
    let rule = refsan_rules::rule(detection.rule);
    let fingerprint = fingerprint(detection, &path, &frames, function.as_deref());
    let mut stacks = Vec::new();
    let truncated = unwound.as_ref().is_none_or(|unwound| unwound.truncated);
    if let Some(detached) = detach_stack(symbolizer, trace, detection) {
        stacks.push(detached);
    }
    let (role, title) = role(detection.rule);
    let tid = Some(thread.tid).filter(|tid| *tid != 0);
    stacks.push(Stack {
        role,
        kind: StackKind::Native,
        title: title.to_owned(),
        tid,
        frames,
        truncated,
    });
    stacks.extend(
        event
            .into_iter()
            .flat_map(|event| python_stacks(trace, event)),
    );
    Finding {
        rule: detection.rule,
        name: detection.rule.name().to_owned(),
        severity: detection.severity,
        confidence: Confidence::Observed,
        message: message(detection, object.as_ref()),
        count: detection.count,
        process: process(trace),
        phase: timeline(trace, detection, stage),
        thread,
        object,
        call: detection.call.clone(),
        module: path.rsplit('/').next().unwrap_or(&path).to_owned(),
        module_path: path,
        function,
        function_note,
        consequence: rule
            .consequence(interpreter(trace), situation)
            .map(str::to_owned),
        cure: cure(detection.rule, stage).to_owned(),
        stacks,
        fingerprint,
    }
}

/// `Py_DECREF` and its kin are inline functions of Python's headers: what matters is who used them.
fn is_release_macro(frame: &Frame) -> bool {
    let of_python = |name: &str| name.starts_with("Py_") || name.starts_with("_Py_");
    frame.inlined && frame.function.as_deref().is_some_and(of_python)
}

fn role(rule: RuleId) -> (StackRole, &'static str) {
    match rule {
        RuleId::ReleaseWithoutThreadState | RuleId::ReleaseAfterFinalization => {
            (StackRole::Released, "the object was released here")
        }
        RuleId::CallWithoutThreadState | RuleId::CallAfterFinalization => {
            (StackRole::Called, "the C-API was called here")
        }
        RuleId::AttachDuringFinalization => {
            (StackRole::Attached, "the thread state was asked for here")
        }
    }
}

fn object(detection: &Detection) -> Option<Object> {
    let with_object = |event: &&Event| event.flags & event_flags::HAS_OBJECT != 0;
    let mut events = detection.events.iter().filter(with_object);
    let is_release = matches!(
        detection.rule,
        RuleId::ReleaseWithoutThreadState | RuleId::ReleaseAfterFinalization
    );
    if !is_release {
        return None;
    }
    let first = events.next();
    let name = |event: &Event| Some(event.type_name.clone()).filter(|name| !name.is_empty());
    let mut object = Object {
        type_name: first.and_then(name),
        other_types: Vec::new(),
        last_reference: first.is_none_or(|event| event.flags & event_flags::LAST_REFERENCE != 0),
    };
    for other in events.filter_map(name) {
        if object.type_name.is_none() {
            object.type_name = Some(other);
        } else if object.type_name.as_ref() != Some(&other) && !object.other_types.contains(&other)
        {
            object.other_types.push(other);
        }
    }
    Some(object)
}

fn thread(event: Option<&Event>, phase: Phase) -> Thread {
    let state = match event {
        _ if phase == Phase::Finalized => ThreadState::Gone,
        Some(event) if event.thread_state == thread_state::DETACHED => ThreadState::Detached,
        _ => ThreadState::None,
    };
    Thread {
        tid: event.map_or(0, |event| event.tid),
        name: event
            .map(|event| event.thread_name.clone())
            .unwrap_or_default(),
        main: event.is_some_and(|event| event.flags & event_flags::MAIN_THREAD != 0),
        state,
    }
}

/// The process as findings name it.
fn process(trace: &Trace) -> Process {
    Process {
        pid: trace.header.pid,
        program: super::coverage::program(trace),
        python: super::coverage::version(trace),
    }
}

fn interpreter(trace: &Trace) -> Interpreter {
    let [major, minor, micro, _] = trace.header.python_version.to_be_bytes();
    Interpreter {
        version: (major, minor, micro),
        free_threaded: trace.header.python_build & python_build::FREE_THREADED != 0,
    }
}

/// Where the thread gave its thread state away.
fn detach_stack(
    symbolizer: &mut Symbolizer,
    trace: &Trace,
    detection: &Detection,
) -> Option<Stack> {
    let event = detection.events.first()?;
    if event.flags & event_flags::HAS_DETACH == 0 || detection.phase == Phase::Finalized {
        return None;
    }
    let call = trace
        .slot(event.detach_module, event.detach_slot)?
        .name
        .clone();
    Some(Stack {
        role: StackRole::Detached,
        kind: StackKind::Native,
        title: format!("the thread gave its thread state away here ({call})"),
        tid: Some(event.tid),
        frames: symbolizer.frames(trace, event.detach_return_address, true),
        truncated: true,
    })
}

/// The Python stacks of the event: the faulty thread's first.
fn python_stacks(trace: &Trace, event: &Event) -> Vec<Stack> {
    let mut stacks: Vec<_> = trace
        .python_stacks
        .iter()
        .filter(|stack| stack.sequence == event.sequence)
        .collect();
    stacks.sort_by_key(|stack| !stack.is_event_thread);
    stacks
        .into_iter()
        .filter(|stack| !stack.frames.is_empty())
        .map(|stack| {
            let native = Some(stack.native_thread_id).filter(|tid| *tid != 0);
            let frames = stack.frames.iter().map(|frame| Frame {
                function: Some(frame.function.clone()).filter(|name| !name.is_empty()),
                file: Some(frame.file.clone()).filter(|name| !name.is_empty()),
                line: Some(frame.line).filter(|line| *line != 0),
                ..Frame::default()
            });
            let (role, title) = if stack.is_event_thread {
                (StackRole::Python, "the Python code of this thread")
            } else {
                (StackRole::OtherThread, "another thread was here")
            };
            Stack {
                role,
                kind: StackKind::Python,
                title: title.to_owned(),
                tid: if stack.is_event_thread {
                    Some(event.tid)
                } else {
                    native
                },
                frames: frames.collect(),
                truncated: stack.truncated,
            }
        })
        .collect()
}

fn fingerprint(
    detection: &Detection,
    path: &str,
    frames: &[Frame],
    function: Option<&str>,
) -> Fingerprint {
    let identity = module_identity(path);
    let module = path.rsplit('/').next().unwrap_or(path);
    let in_module = frames
        .iter()
        .filter(|frame| frame.module.as_deref() == Some(module))
        .filter_map(|frame| frame.function.as_deref().map(stable_function))
        .take(FINGERPRINT_FRAMES);
    let mut parts = vec![detection.rule.code(), &identity, &detection.call];
    parts.extend(in_module);
    // Without a single name only the place in the file is left to tell faults apart.
    let offset;
    if function.is_none() && parts.len() == 3 {
        let place = frames
            .iter()
            .find(|frame| frame.module.as_deref() == Some(module));
        offset = place
            .and_then(|frame| frame.offset)
            .unwrap_or_default()
            .to_string();
        parts.push(&offset);
    }
    Fingerprint::of(parts)
}
