//! What refsan says about a program, as data.
//!
//! Both producers (the watched run and, later, the audit of a binary) speak in these types, and
//! every renderer reads nothing else. The types serialize to the published JSON schema.
#![forbid(unsafe_code)]

mod coverage;
mod finding;
mod fingerprint;
mod frame;
mod phase;
mod report;
mod rule;

pub use coverage::{
    Coverage, ModuleCoverage, ModuleStatus, ProcessCoverage, ReleaseVisibility, SymbolQuality,
};
pub use finding::{Confidence, Finding, Object, Process, Severity, Thread, ThreadState};
pub use fingerprint::Fingerprint;
pub use frame::{Frame, Stack, StackKind, StackRole};
pub use phase::{Phase, Step, Timeline};
pub use report::{Report, SCHEMA_VERSION};
pub use rule::{RuleId, UnknownRule};
