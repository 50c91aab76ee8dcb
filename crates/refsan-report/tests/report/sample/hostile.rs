//! A program that gives everything a name made to fool a terminal.

use refsan_model::{Object, Report, RuleId, StackRole};

use super::{
    finding, module, other, python, report, running, skipped, stack, step, troubled, watched,
};

/// Names that try to forge output.
pub fn hostile() -> Report {
    let evil = "x\u{1b}[2J\u{1b}]0;owned\u{7}\nerror[RS999] forged\r\u{202e}\u{9b}31m";
    let mut finding = finding(RuleId::CallWithoutThreadState, evil, evil, evil, running());
    finding.module = evil.into();
    finding.module_path = evil.into();
    finding.function_note = Some(evil.into());
    finding.consequence = Some(evil.into());
    finding.cure = evil.into();
    finding.thread.name = evil.into();
    finding.process.program = evil.into();
    finding.process.python = evil.into();
    finding.phase.steps = vec![step(evil, Some(evil), true)];
    finding.object = Some(Object {
        type_name: Some(evil.into()),
        other_types: vec![evil.into()],
        last_reference: false,
    });
    let mut frame = watched(evil, evil, 0);
    frame.module = Some(evil.into());
    let collapsed = (0..3).map(|_| other(Some(evil), evil, 1));
    finding.stacks = vec![
        stack(
            StackRole::Called,
            evil,
            [frame].into_iter().chain(collapsed).collect(),
        ),
        stack(StackRole::Python, evil, vec![python(evil, evil, 1)]),
        stack(StackRole::OtherThread, evil, vec![python(evil, evil, 1)]),
    ];
    let mut process = troubled(4700);
    process.program = evil.into();
    process.python = evil.into();
    process.reason = Some(evil.into());
    process.damage = vec![evil.into()];
    process.modules = vec![module(evil, 1), skipped(evil, evil)];
    process.modules[0].unwatched = vec![evil.into()];
    let mut second = process.clone();
    second.in_force = false;
    report(vec![finding], vec![process, second])
}
