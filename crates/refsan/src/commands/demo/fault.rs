//! The two faults that refsan began with, in small.

use refsan_model::RuleId;

/// The extension with both faults.
pub const EXTENSION: &str = include_str!("extension.c");

/// One fault of the extension.
#[derive(Debug)]
pub struct Fault {
    /// A headline.
    pub title: &'static str,
    /// What goes wrong, in lines.
    pub story: [&'static str; 2],
    /// The name of the program.
    pub file: &'static str,
    /// The program that runs into it.
    pub program: &'static str,
    /// The rule that names it.
    pub rule: RuleId,
    /// The function that the finding must name.
    pub function: &'static str,
}

/// Both.
pub const FAULTS: [Fault; 2] = [
    Fault {
        title: "A stack of entered contexts",
        story: [
            "A thread-local variable still owns a Python object when the process exits.",
            "Its destructor releases the object after the interpreter is gone.",
        ],
        file: "entered_context.py",
        program: include_str!("entered_context.py"),
        rule: RuleId::ReleaseAfterFinalization,
        function: "leave_all",
    },
    Fault {
        title: "A lingering engine",
        story: [
            "predict() keeps its input for a second, then releases it on a thread of its own",
            "without the GIL: the program dies while it does something unrelated.",
        ],
        file: "lingering_engine.py",
        program: include_str!("lingering_engine.py"),
        rule: RuleId::ReleaseWithoutThreadState,
        function: "release_input",
    },
];
