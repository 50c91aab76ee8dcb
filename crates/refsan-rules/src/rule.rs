//! The shape of a rule: its metadata, its page, and what CPython does when it is broken.

use refsan_model::{Phase, RuleId, Severity, ThreadState};

/// A family of rules; its prefix selects all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// `RS1`: the calling thread has no attached thread state.
    ThreadState,
    /// `RS2`: the interpreter is being finalized, or is gone.
    Finalization,
}

impl Group {
    /// What the codes of the group start with.
    pub fn prefix(self) -> &'static str {
        match self {
            Group::ThreadState => "RS1",
            Group::Finalization => "RS2",
        }
    }

    /// The group's name.
    pub fn name(self) -> &'static str {
        match self {
            Group::ThreadState => "thread state",
            Group::Finalization => "finalization",
        }
    }
}

/// Whether a rule may still change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Its meaning is fixed.
    Stable,
    /// It is on trial: findings are shown apart.
    Preview,
}

impl Status {
    /// The word for people.
    pub fn name(self) -> &'static str {
        match self {
            Status::Stable => "stable",
            Status::Preview => "preview",
        }
    }
}

/// The interpreter in which a rule was broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interpreter {
    /// Major, minor and micro version, for example `(3, 13, 8)`.
    pub version: (u8, u8, u8),
    /// The build has no GIL.
    pub free_threaded: bool,
}

/// When and on what kind of thread a rule was broken, where that is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Situation<'a> {
    /// The part of the interpreter's life in which the call began.
    pub phase: Option<Phase>,
    /// The thread state of the thread.
    pub state: Option<ThreadState>,
    /// The C-API function that was called.
    pub call: Option<&'a str>,
}

/// One rule.
#[derive(Debug)]
pub struct Rule {
    /// The code and the name.
    pub id: RuleId,
    /// What is wrong, in one line.
    pub summary: &'static str,
    /// The family.
    pub group: Group,
    /// Whether it may still change.
    pub status: Status,
    /// The first version of refsan that has the rule.
    pub since: &'static str,
    /// How bad a finding usually is; a call that only reads is one step less.
    pub severity: Severity,
    /// The cure in one line, for reports.
    pub cure: &'static str,
    /// The page, Markdown, without its title.
    pub page: &'static str,
    /// Behind [`Rule::consequence`]: called only for versions from 3.8 to 3.15.
    pub(crate) consequence: fn(Interpreter, Situation<'_>) -> &'static str,
}

impl Rule {
    /// What this interpreter does when the rule is broken, in one line that starts in lower case.
    ///
    /// `None` for a version that was never observed: nothing is guessed.
    pub fn consequence(
        &self,
        interpreter: Interpreter,
        situation: Situation<'_>,
    ) -> Option<&'static str> {
        let (major, minor, _) = interpreter.version;
        (major == 3 && (8..=15).contains(&minor))
            .then(|| (self.consequence)(interpreter, situation))
    }
}
