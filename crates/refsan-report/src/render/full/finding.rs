//! One finding: the message, its halves with their stacks, then the facts.

use std::io;

use refsan_model::{Finding, Object, Stack, StackKind, StackRole, Thread, ThreadState, Timeline};

use super::Page;
use crate::clean::{clean, name};
use crate::distinct::Distinct;
use crate::number::{duration, grouped, plural};
use crate::paint::{Ink, severity};

/// Other threads whose place is shown.
const OTHER_THREADS: usize = 3;

impl Page<'_> {
    pub(super) fn finding(&mut self, entry: &Distinct<'_>, several: bool) -> io::Result<()> {
        let finding = entry.finding;
        let code = format!("{}[{}]", severity(finding.severity), finding.rule);
        writeln!(
            self.out,
            "{} {}: {}",
            self.paint.of(Ink::Severity(finding.severity), &code),
            clean(&finding.name),
            self.paint.of(Ink::Strong, &clean(&finding.message)),
        )?;
        self.halves(finding)?;
        self.fact("module", &clean(&finding.module_path))?;
        self.fact("call", &call(finding))?;
        if let Some(object) = &finding.object {
            self.fact("object", &object_text(object))?;
        }
        self.fact("thread", &thread_text(&finding.thread))?;
        self.fact("phase", &timeline_text(&finding.phase))?;
        if entry.count > 1 {
            self.fact("seen", &seen(entry))?;
        }
        let others: Vec<_> = with_role(finding, StackRole::OtherThread).collect();
        self.other_threads(&others, OTHER_THREADS)?;
        if several {
            let process = &finding.process;
            self.fact(
                "process",
                &format!("{} {}", process.pid, clean(&process.program)),
            )?;
        }
        if let Some(consequence) = &finding.consequence {
            let python = &finding.process.python;
            let place = match python.is_empty() {
                true => String::new(),
                false => format!("CPython {}: ", clean(python)),
            };
            self.fact("effect", &format!("{place}{}", clean(consequence)))?;
        }
        self.fact("cure", &clean(&finding.cure))?;
        let more = format!(
            "refsan rule {}        fingerprint {}",
            finding.rule, finding.fingerprint
        );
        self.fact("more", &more)
    }

    /// The stacks, in the order of events: where the state was lost, then where it was missed.
    fn halves(&mut self, finding: &Finding) -> io::Result<()> {
        let is_half = |role| !matches!(role, StackRole::Python | StackRole::OtherThread);
        let mut halves: Vec<_> = finding
            .stacks
            .iter()
            .filter(|stack| is_half(stack.role))
            .filter(|stack| self.options.native || stack.kind == StackKind::Python)
            .collect();
        halves.sort_by_key(|stack| stack.role != StackRole::Detached);
        for (number, stack) in halves.iter().enumerate() {
            let mark = if halves.len() > 1 {
                format!("({}) ", number + 1)
            } else {
                String::new()
            };
            self.stack(&mark, stack)?;
        }
        for stack in with_role(finding, StackRole::Python) {
            self.stack("", stack)?;
        }
        Ok(())
    }
}

fn with_role(finding: &Finding, role: StackRole) -> impl Iterator<Item = &Stack> {
    finding
        .stacks
        .iter()
        .filter(move |stack| stack.role == role)
}

fn call(finding: &Finding) -> String {
    let function = match &finding.function {
        Some(function) => name(function, 160),
        None => "a function without a symbol".to_owned(),
    };
    let mut text = format!("{} in {function}", clean(&finding.call));
    if let Some(note) = &finding.function_note {
        text += &format!(" ({})", clean(note));
    }
    text
}

fn object_text(object: &Object) -> String {
    let mut text = match &object.type_name {
        Some(type_name) => clean(type_name).into_owned(),
        None => "unknown type (its memory could not be read)".to_owned(),
    };
    text += if object.last_reference {
        "; last reference"
    } else {
        "; not the last reference"
    };
    if !object.other_types.is_empty() {
        let others: Vec<_> = object.other_types.iter().map(|name| clean(name)).collect();
        text += &format!("; released by the same call: {}", others.join(", "));
    }
    text
}

fn thread_text(thread: &Thread) -> String {
    let state = match thread.state {
        ThreadState::None => "has no thread state",
        ThreadState::Detached => "its thread state was detached",
        ThreadState::Gone => "its interpreter is gone",
    };
    let which = if thread.main {
        "the main thread"
    } else {
        "not the main thread"
    };
    format!(
        "\"{}\" (tid {}), {which}; {state}",
        clean(&thread.name),
        thread.tid
    )
}

/// `script end → atexit callbacks (3 ms) → exit handlers → here`
fn timeline_text(timeline: &Timeline) -> String {
    let mut steps = Vec::new();
    for step in &timeline.steps {
        let mut text = clean(&step.name).into_owned();
        if let Some(note) = &step.note {
            text += &format!(" ({})", clean(note));
        }
        steps.push(text);
        if step.here && step.name != "here" {
            steps.push("here".to_owned());
        }
    }
    format!(
        "{}, {} after start",
        steps.join(" → "),
        duration(timeline.milliseconds)
    )
}

fn seen(entry: &Distinct<'_>) -> String {
    let mut text = format!("{} times", grouped(entry.count));
    if entry.processes.len() > 1 {
        text += &format!(" in {}", plural(entry.processes.len() as u64, "process"));
    }
    text + "; the first is shown"
}
