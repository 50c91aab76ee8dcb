//! What was watched and what was not: a report without findings means no more than this.

use serde::{Deserialize, Serialize};

/// Whether a module's calls were watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ModuleStatus {
    /// Its calls of the C-API go through refsan.
    Watched,
    /// They do not; the reason is given.
    Skipped,
}

/// Which releases of objects a module's machine code shows to refsan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReleaseVisibility {
    /// Every release is a call.
    All,
    /// Decrements are inline; the release of the last reference is a call.
    LastOnly,
    /// Free-threaded: the last one, and every one by a thread that does not own the object.
    LastAndShared,
    /// The module calls no release function.
    None,
}

/// What the module's file says about its functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SymbolQuality {
    /// Functions, files and lines.
    Dwarf,
    /// Functions only.
    Names,
    /// Exported functions only: the file is stripped.
    None,
    /// The file was not looked at.
    Unknown,
}

/// One loaded binary that uses the C-API.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModuleCoverage {
    /// The base name.
    pub name: String,
    /// The whole path.
    pub path: String,
    /// Watched or skipped.
    pub status: ModuleStatus,
    /// Why it was skipped.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason: Option<String>,
    /// Which releases are visible.
    pub releases: ReleaseVisibility,
    /// How many C-API functions are watched.
    pub functions: u32,
    /// C-API functions that are imported but not watched, since their address may be stored.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub unwatched: Vec<String>,
    /// Calls seen.
    pub calls: u64,
    /// The quality of the symbols.
    pub symbols: SymbolQuality,
}

/// One watched process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessCoverage {
    /// The process id.
    pub pid: u32,
    /// The program and its first arguments.
    pub program: String,
    /// The interpreter's version, for example `3.11.7 (shared)`; empty without one.
    pub python: String,
    /// The hooks were in force.
    pub in_force: bool,
    /// Why they were not, or were in part only.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason: Option<String>,
    /// The process came to its end in order (its exit handlers ran).
    pub ended: bool,
    /// The modules.
    pub modules: Vec<ModuleCoverage>,
    /// Calls seen in all modules.
    pub calls: u64,
    /// Events that could not be recorded.
    pub dropped: u64,
    /// Damaged places in the trace, in words.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub damage: Vec<String>,
}

/// What the report speaks of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coverage {
    /// The processes, in the order in which they started.
    pub processes: Vec<ProcessCoverage>,
}

impl Coverage {
    /// Whether the hooks were in force in at least one process.
    pub fn in_force(&self) -> bool {
        self.processes.iter().any(|process| process.in_force)
    }
}
