//! Which interpreters there are.

use std::path::{Path, PathBuf};

/// Files in the directories of `path` (the value of `PATH`) that are named like interpreters, the
/// first of each name first, as a shell would find them.
pub fn candidates(path: &std::ffi::OsStr) -> Vec<PathBuf> {
    let mut names = vec!["python3".to_owned(), "python".to_owned()];
    names.extend((8..=15).map(|minor| format!("python3.{minor}")));
    names.extend((13..=15).map(|minor| format!("python3.{minor}t")));
    let directories: Vec<PathBuf> = std::env::split_paths(path).collect();
    names
        .iter()
        .flat_map(|name| {
            directories
                .iter()
                .map(move |directory| directory.join(name))
        })
        .filter(|candidate| candidate.is_file())
        .collect()
}

/// What a name on the command line stands for: a path, or a file in `PATH`.
pub fn resolve(given: &Path) -> PathBuf {
    if given.components().count() > 1 {
        return given.to_owned();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .map(|directory| directory.join(given))
        .find(|candidate| candidate.is_file())
        .unwrap_or_else(|| given.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidates_come_as_a_shell_would_find_them() {
        let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for (directory, name) in [
            (&second, "python3"),
            (&first, "python3"),
            (&first, "pythonic"),
            (&second, "python3.13t"),
        ] {
            std::fs::write(directory.path().join(name), "").unwrap();
        }
        let path = std::env::join_paths([first.path(), second.path()]).unwrap();
        let expected = [
            first.path().join("python3"),
            second.path().join("python3"),
            second.path().join("python3.13t"),
        ];
        assert_eq!(candidates(&path), expected);
    }

    #[test]
    fn a_path_is_taken_as_it_is() {
        assert_eq!(resolve(Path::new("./python3")), Path::new("./python3"));
        assert_eq!(
            resolve(Path::new("no-such-name")),
            Path::new("no-such-name")
        );
        assert!(resolve(Path::new("sh")).is_absolute());
    }
}
