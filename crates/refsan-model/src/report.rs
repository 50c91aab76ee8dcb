//! The whole document that a renderer gets.

use serde::{Deserialize, Serialize};

use crate::{Coverage, Finding, Severity};

/// The version of the JSON documents; `schemas/finding-v1.json` describes it.
pub const SCHEMA_VERSION: u32 = 1;

/// Findings and what they rest on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The version of refsan that wrote the document.
    pub tool_version: String,
    /// The findings, the worst first.
    pub findings: Vec<Finding>,
    /// What was watched.
    pub coverage: Coverage,
}

impl Report {
    /// Whether a finding is at least as bad as `severity`.
    pub fn has(&self, severity: Severity) -> bool {
        self.findings
            .iter()
            .any(|finding| finding.severity >= severity)
    }
}
