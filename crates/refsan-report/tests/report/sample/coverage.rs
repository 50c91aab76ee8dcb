//! Processes and modules, watched and not.

use refsan_model::{
    ModuleCoverage, ModuleStatus, ProcessCoverage, ReleaseVisibility, SymbolQuality,
};

use super::MODULE;

pub fn module(name: &str, calls: u64) -> ModuleCoverage {
    ModuleCoverage {
        name: name.into(),
        path: format!("/opt/venv/lib/python3.11/site-packages/mypkg/{name}"),
        status: ModuleStatus::Watched,
        reason: None,
        releases: ReleaseVisibility::LastOnly,
        functions: 61,
        unwatched: Vec::new(),
        calls,
        symbols: SymbolQuality::Dwarf,
    }
}

pub fn skipped(name: &str, reason: &str) -> ModuleCoverage {
    ModuleCoverage {
        status: ModuleStatus::Skipped,
        reason: Some(reason.into()),
        releases: ReleaseVisibility::None,
        functions: 0,
        calls: 0,
        symbols: SymbolQuality::Unknown,
        ..module(name, 0)
    }
}

/// A process in which all went well.
pub fn process(pid: u32) -> ProcessCoverage {
    let mut limited = module("_hash.abi3.so", 88);
    limited.releases = ReleaseVisibility::All;
    limited.symbols = SymbolQuality::Names;
    limited.unwatched = vec!["PyObject_GenericGetAttr".into()];
    ProcessCoverage {
        pid,
        program: "python app.py".into(),
        python: "3.11.7 (shared)".into(),
        in_force: true,
        reason: None,
        ended: true,
        modules: vec![
            limited,
            module(MODULE, 1_234_567),
            skipped("_json.cpython-311-x86_64-linux-gnu.so", "standard library"),
            skipped(
                "_random.cpython-311-x86_64-linux-gnu.so",
                "standard library",
            ),
        ],
        calls: 1_234_655,
        dropped: 0,
        damage: Vec::new(),
    }
}

/// A process in which everything that can go wrong did.
pub fn troubled(pid: u32) -> ProcessCoverage {
    ProcessCoverage {
        reason: Some("libpython was loaded late; calls before that were not seen".into()),
        ended: false,
        dropped: 1_200,
        damage: vec!["the trace ends in the middle of a record at byte 4,096".into()],
        ..process(pid)
    }
}

/// A process that could not be watched.
pub fn unwatched(pid: u32) -> ProcessCoverage {
    ProcessCoverage {
        pid,
        program: "/usr/bin/tool --flag".into(),
        python: String::new(),
        in_force: false,
        reason: Some("the program is statically linked".into()),
        ended: false,
        modules: Vec::new(),
        calls: 0,
        dropped: 0,
        damage: Vec::new(),
    }
}
