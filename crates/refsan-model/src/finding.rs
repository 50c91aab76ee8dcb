//! A finding: one fault, however often it happened.

use serde::{Deserialize, Serialize};

use crate::{Fingerprint, RuleId, Stack, Timeline};

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// Wrong, but harmless by itself: for example a function that only reads.
    Warning,
    /// Undefined behaviour: memory may be damaged or the process may die.
    Error,
}

/// How sure refsan is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Confidence {
    /// Seen to happen in a run.
    Observed,
}

/// The process in which a fault happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// The process id.
    pub pid: u32,
    /// The program and its first arguments.
    pub program: String,
    /// The interpreter's version, for example `3.11.7`.
    pub python: String,
}

/// What is known of a thread's thread state at the fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ThreadState {
    /// The thread has none: native code started it, or the interpreter has taken it away.
    None,
    /// The thread has one, detached at that moment.
    Detached,
    /// The interpreter that would hold it is gone.
    Gone,
}

/// The thread on which a fault happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thread {
    /// The kernel's thread id.
    pub tid: u32,
    /// The name that the kernel has for the thread.
    pub name: String,
    /// It is the thread that started the process.
    pub main: bool,
    /// Its thread state at the fault.
    pub state: ThreadState,
}

/// The object that was released.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Object {
    /// The name of its type; `None` where the memory could not be read or made no sense.
    #[serde(rename = "type")]
    pub type_name: Option<String>,
    /// Other types released by the same call.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub other_types: Vec<String>,
    /// The release was of the last reference.
    pub last_reference: bool,
}

/// One fault.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The rule that it breaks.
    pub rule: RuleId,
    /// The rule's name.
    pub name: String,
    /// How bad it is.
    pub severity: Severity,
    /// How sure refsan is.
    pub confidence: Confidence,
    /// One sentence for people.
    pub message: String,
    /// How often it happened, from 1.
    pub count: u64,
    /// The process.
    pub process: Process,
    /// The thread of the first occurrence.
    pub thread: Thread,
    /// Where in the process's life it happened.
    pub phase: Timeline,
    /// The object, for a release.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub object: Option<Object>,
    /// The C-API function that was called.
    pub call: String,
    /// The base name of the binary that made the call.
    pub module: String,
    /// The whole path of that binary.
    pub module_path: String,
    /// The function that made the call; `None` where no symbol covers it.
    pub function: Option<String>,
    /// What is known about `function`, where it is not exact.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub function_note: Option<String>,
    /// What this version of CPython does then.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub consequence: Option<String>,
    /// The cure in one line.
    pub cure: String,
    /// The stacks, the most telling first.
    pub stacks: Vec<Stack>,
    /// The identity across runs.
    pub fingerprint: Fingerprint,
}
