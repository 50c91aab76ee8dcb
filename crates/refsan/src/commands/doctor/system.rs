//! What does not depend on the interpreter: the platform, the places for files, the environment.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::check::Check;
use crate::runtime_library;
use crate::traces::TraceDirectory;

/// The variables that this version reads.
const KNOWN: [&str; 5] = [
    "REFSAN_CACHE_DIR",
    "REFSAN_FORMAT",
    "REFSAN_OPTIONS",
    "REFSAN_OUTPUT",
    "REFSAN_TRACE_DIR",
];

/// Everything about the system, in the order in which a run needs it.
pub fn checks() -> Vec<Check> {
    let mut checks = vec![platform(), library(), traces()];
    checks.extend(preloaded(std::env::var_os("LD_PRELOAD")));
    checks.extend(variables(std::env::vars_os()));
    checks
}

fn platform() -> Check {
    let (system, processor) = (std::env::consts::OS, std::env::consts::ARCH);
    let library = if cfg!(target_env = "gnu") {
        "glibc"
    } else {
        "no glibc"
    };
    let here = format!("platform: {system} on {processor}, {library}");
    if cfg!(all(
        target_os = "linux",
        target_arch = "x86_64",
        target_env = "gnu"
    )) {
        Check::ok(here)
    } else {
        Check::problem(
            here,
            "programs can be watched on Linux with glibc on x86_64 only; traces from there can be read here with `refsan report`",
        )
    }
}

fn library() -> Check {
    let fallback = match tempfile::tempdir() {
        Ok(directory) => directory,
        Err(error) => return no_temporary_directory(&error),
    };
    match runtime_library::place(fallback.path()) {
        Ok(path) if path.starts_with(fallback.path()) => Check::warning(
            "runtime library: the cache directory cannot be used, each run writes the library to its trace directory",
            "set REFSAN_CACHE_DIR to a directory that can be written and whose path has neither spaces nor colons",
        ),
        Ok(path) => Check::ok(format!("runtime library: {}", path.display())),
        Err(error) => Check::problem(format!("runtime library: {error}"), ""),
    }
}

fn no_temporary_directory(error: &std::io::Error) -> Check {
    Check::problem(
        format!(
            "temporary directory: cannot write to {}: {error}",
            std::env::temp_dir().display()
        ),
        "set TMPDIR to a directory that can be written",
    )
}

fn traces() -> Check {
    let given = std::env::var_os("REFSAN_TRACE_DIR").map(PathBuf::from);
    let existed = given.as_deref().is_none_or(Path::exists);
    let made = TraceDirectory::new(given.as_deref());
    // What was made only to look goes again.
    if let (false, Some(path)) = (existed, &given) {
        let _ = std::fs::remove_dir(path);
    }
    let shown = given.unwrap_or_else(std::env::temp_dir);
    match made {
        Ok(_) => Check::ok(format!("traces: {} can be written", shown.display())),
        Err(error) => Check::problem(format!("traces: {error}"), ""),
    }
}

fn preloaded(others: Option<OsString>) -> Option<Check> {
    let others = others.filter(|others| !others.is_empty())?;
    Some(Check::warning(
        format!("LD_PRELOAD is {} already", others.display()),
        "refsan puts its library in front of these; should a program fail only under refsan, try it without them",
    ))
}

/// What of the environment changes a run.
fn variables(all: impl Iterator<Item = (OsString, OsString)>) -> Vec<Check> {
    let mut ours: Vec<(String, OsString)> = all
        .map(|(name, value)| (name.to_string_lossy().into_owned(), value))
        .filter(|(name, _)| name.starts_with("REFSAN_") || name.starts_with("_REFSAN_"))
        .collect();
    ours.sort();
    let check = |(name, value): (String, OsString)| {
        let text = format!("{name} is {}", value.display());
        if KNOWN.contains(&name.as_str()) {
            Check::ok(format!("{text}, and is in effect"))
        } else if name.starts_with('_') {
            Check::warning(
                text,
                "it is private to refsan: this shell runs under refsan, or should unset it",
            )
        } else {
            Check::warning(
                text,
                format!("no such variable is read; known are {}", KNOWN.join(", ")),
            )
        }
    };
    if ours.is_empty() {
        return vec![Check::ok("environment: no REFSAN_ variable is set")];
    }
    ours.into_iter().map(check).collect()
}

#[cfg(test)]
mod tests {
    use super::super::check::State;
    use super::*;

    #[test]
    fn variables_that_nothing_reads_are_told() {
        let set = [
            ("REFSAN_OPTION", "help=1"),
            ("HOME", "/"),
            ("REFSAN_OPTIONS", "samples=1"),
            ("_REFSAN_CHANNEL", "/x"),
        ];
        let checks = variables(
            set.into_iter()
                .map(|(name, value)| (name.into(), value.into())),
        );
        let states: Vec<State> = checks.iter().map(|check| check.state).collect();
        assert_eq!(states, [State::Warning, State::Ok, State::Warning]);
        assert!(checks[0].advice.contains("REFSAN_OPTIONS"), "{checks:?}");
        assert_eq!(variables(std::iter::empty()).len(), 1);
    }

    #[test]
    fn others_in_ld_preload_are_told() {
        assert_eq!(preloaded(None), None);
        assert_eq!(preloaded(Some("".into())), None);
        let check = preloaded(Some("libjemalloc.so".into())).unwrap();
        assert!(check.text.contains("libjemalloc.so"));
    }
}
