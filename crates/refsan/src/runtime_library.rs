//! Puts the runtime library where the loader can find it.
//!
//! The command carries the library along, so that there is nothing to install beside it and the two
//! are always of the same version.

use std::io::Write;
use std::path::{Path, PathBuf};

use crate::error::CommandError;

static LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/librefsan_runtime.so"));

/// The path of the library, written to the first place that will have it: the cache directory, or
/// `fallback`.
///
/// # Errors
/// When this build has no library, or no place will have it.
pub fn place(fallback: &Path) -> Result<PathBuf, CommandError> {
    if LIBRARY.is_empty() {
        return Err(CommandError::NoRuntime);
    }
    let mut tried = Vec::new();
    for directory in cache_directory().into_iter().chain([fallback.to_owned()]) {
        match place_in(&directory) {
            Ok(path) => return Ok(path),
            Err(reason) => tried.push(format!("{}: {reason}", directory.display())),
        }
    }
    Err(CommandError::RuntimeLibrary { tried })
}

/// `REFSAN_CACHE_DIR`, or refsan's directory in the user's cache.
fn cache_directory() -> Option<PathBuf> {
    let variable = |name| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    variable("REFSAN_CACHE_DIR")
        .or_else(|| variable("XDG_CACHE_HOME").map(|cache| cache.join("refsan")))
        .or_else(|| variable("HOME").map(|home| home.join(".cache/refsan")))
}

fn place_in(directory: &Path) -> Result<PathBuf, String> {
    // The loader splits LD_PRELOAD at spaces and colons and knows no way to quote them.
    let text = directory.to_str().ok_or("the path is not UTF-8")?;
    if text.contains([' ', ':']) {
        return Err("the path has a space or a colon".to_owned());
    }
    let file = concat!(
        "refsan-runtime-",
        env!("CARGO_PKG_VERSION"),
        "-",
        env!("REFSAN_RUNTIME_DIGEST"),
        ".so"
    );
    let path = std::path::absolute(directory)
        .map_err(|error| error.to_string())?
        .join(file);
    if std::fs::read(&path).is_ok_and(|bytes| bytes == LIBRARY) {
        return Ok(path);
    }
    // Another refsan may be doing the same: each writes its own file and renames it.
    let write = || -> std::io::Result<()> {
        std::fs::create_dir_all(directory)?;
        let mut file = tempfile::NamedTempFile::new_in(directory)?;
        file.write_all(LIBRARY)?;
        file.persist(&path)?;
        Ok(())
    };
    write().map(|()| path).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_that_will_not_do_is_told_with_its_reason() {
        let error = place_in(Path::new("/no such directory")).unwrap_err();
        assert!(error.contains("space"), "{error}");
        let error = place_in(Path::new("/proc/refsan")).unwrap_err();
        assert!(!error.is_empty());
    }

    #[test]
    fn the_library_is_written_once_and_mended_when_it_was_damaged() {
        let directory = tempfile::tempdir().unwrap();
        let path = place_in(directory.path()).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), LIBRARY);
        std::fs::write(&path, b"cut").unwrap();
        assert_eq!(place_in(directory.path()).unwrap(), path);
        assert_eq!(std::fs::read(&path).unwrap(), LIBRARY);
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
    }
}
