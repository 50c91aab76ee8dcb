//! What was watched, from the traces.

use refsan_model::{
    ModuleCoverage, ModuleStatus, ProcessCoverage, ReleaseVisibility, SymbolQuality,
};
use refsan_symbols::Symbolizer;
use refsan_trace::layout::{module_role, python_build, skip_reason, slot_flags, watch_state};
use refsan_trace::{Module, Trace};

/// What is said of one process.
pub fn process(symbolizer: &mut Symbolizer, trace: &Trace) -> ProcessCoverage {
    let header = &trace.header;
    let uses_api =
        |module: &&Module| matches!(module.role, module_role::WATCHED | module_role::SKIPPED);
    let modules: Vec<ModuleCoverage> = trace
        .modules
        .iter()
        .filter(uses_api)
        .map(|module| self::module(symbolizer, module))
        .collect();
    let reason = refsan_trace::layout::text(&header.reason);
    ProcessCoverage {
        pid: header.pid,
        program: program(trace),
        python: python(trace),
        in_force: header.watch_state == watch_state::IN_FORCE,
        reason: Some(reason).filter(|reason| !reason.is_empty()),
        ended: header.ended != 0,
        calls: modules.iter().map(|module| module.calls).sum(),
        modules,
        dropped: header.dropped_records + header.dropped_sites + header.dropped_threads,
        damage: trace
            .damage
            .iter()
            .map(|damage| format!("at {:#x}: {}", damage.offset, damage.what))
            .collect(),
    }
}

/// Whether the process was forked only to become another program: it called nothing and did not end.
pub fn was_only_on_its_way_to_exec(trace: &Trace) -> bool {
    let header = &trace.header;
    let called = trace
        .modules
        .iter()
        .flat_map(|module| &module.slots)
        .any(|slot| slot.calls != 0);
    header.forked != 0 && header.ended == 0 && !called && trace.sites.is_empty()
}

fn module(symbolizer: &mut Symbolizer, module: &Module) -> ModuleCoverage {
    let watched = module.role == module_role::WATCHED;
    let patched = module
        .slots
        .iter()
        .filter(|slot| slot.flags & slot_flags::NOT_PATCHED == 0);
    let unwatched = module
        .slots
        .iter()
        .filter(|slot| slot.flags & slot_flags::NOT_PATCHED != 0);
    ModuleCoverage {
        name: module
            .path
            .rsplit('/')
            .next()
            .unwrap_or(&module.path)
            .to_owned(),
        path: module.path.clone(),
        status: if watched {
            ModuleStatus::Watched
        } else {
            ModuleStatus::Skipped
        },
        reason: skipped(module.reason).map(str::to_owned),
        releases: releases(module),
        functions: u32::try_from(patched.count()).unwrap_or(u32::MAX),
        unwatched: unwatched.map(|slot| slot.name.clone()).collect(),
        calls: module.slots.iter().map(|slot| slot.calls).sum(),
        symbols: if watched {
            symbolizer.quality(module)
        } else {
            SymbolQuality::Unknown
        },
    }
}

fn skipped(reason: u8) -> Option<&'static str> {
    match reason {
        skip_reason::NONE => None,
        skip_reason::STANDARD_LIBRARY => Some("belongs to the standard library"),
        skip_reason::PROTECTED => Some("the system does not let its table be changed"),
        skip_reason::MALFORMED => Some("its tables make no sense"),
        skip_reason::NO_MEMORY => Some("no memory for thunks"),
        _ => Some("unknown reason"),
    }
}

/// Which releases the module's code makes by a call: see facts on reference counting in the
/// documentation. `_Py_Dealloc` means inlined decrements.
fn releases(module: &Module) -> ReleaseVisibility {
    let has = |name: &str| module.slots.iter().any(|slot| slot.name == name);
    if has("_Py_DecRefShared") || has("_Py_MergeZeroLocalRefcount") {
        ReleaseVisibility::LastAndShared
    } else if has("_Py_Dealloc") {
        ReleaseVisibility::LastOnly
    } else if has("_Py_DecRef") || has("Py_DecRef") {
        ReleaseVisibility::All
    } else {
        ReleaseVisibility::None
    }
}

/// The program and its first arguments.
pub fn program(trace: &Trace) -> String {
    const SHOWN: usize = 100;
    let end = trace
        .header
        .arguments
        .iter()
        .rposition(|byte| *byte != 0)
        .map_or(0, |last| last + 1);
    let arguments = trace.header.arguments.get(..end).unwrap_or_default();
    let words = arguments
        .split(|byte| *byte == 0)
        .map(String::from_utf8_lossy);
    let text = words.collect::<Vec<_>>().join(" ");
    let mut short: String = text.chars().take(SHOWN).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

/// The interpreter's version, for example `3.11.7`; empty without an interpreter.
pub fn version(trace: &Trace) -> String {
    let [major, minor, micro, level] = trace.header.python_version.to_be_bytes();
    let suffix = match level >> 4 {
        0xa => format!("a{}", level & 0xf),
        0xb => format!("b{}", level & 0xf),
        0xc => format!("rc{}", level & 0xf),
        _ => String::new(),
    };
    if major == 0 {
        String::new()
    } else {
        format!("{major}.{minor}.{micro}{suffix}")
    }
}

/// The version and the kind of build.
fn python(trace: &Trace) -> String {
    let version = version(trace);
    if version.is_empty() {
        return version;
    }
    let build = trace.header.python_build;
    let mut kinds = vec![if build & python_build::STATIC != 0 {
        "static"
    } else {
        "shared"
    }];
    if build & python_build::FREE_THREADED != 0 {
        kinds.push("free-threaded");
    }
    if build & python_build::LOADED_LATE != 0 {
        kinds.push("loaded late");
    }
    format!("{version} ({})", kinds.join(", "))
}
