//! Where in the life of the process a fault happened.

use serde::{Deserialize, Serialize};

/// The part of the interpreter's life in which something happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// The interpreter is alive.
    Running,
    /// The finalizing flag is set; modules are being torn down.
    Finalizing,
    /// `Py_FinalizeEx` is done.
    Finalized,
}

/// A step on the way to a fault.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// The step, for example `atexit callbacks`.
    pub name: String,
    /// What is known of it, for example `12 ms before`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub note: Option<String>,
    /// The fault happened in this step.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub here: bool,
}

/// The phase of a fault and the steps that the process had passed by then.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timeline {
    /// The phase.
    pub phase: Phase,
    /// The time since the process started, in milliseconds.
    pub milliseconds: u64,
    /// The steps in order; exactly one is `here`.
    pub steps: Vec<Step>,
}
