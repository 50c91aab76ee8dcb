//! Rules of the source tree that no lint knows.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use crate::command::TaskError;

/// The crates that may use unsafe code.
const MAY_BE_UNSAFE: [&str; 3] = ["refsan-hook", "refsan-runtime", "refsan-trace"];

/// How many lines above an unsafe block, or inside it, its reason may stand.
const REASON_DISTANCE: usize = 6;

/// Names of people who do not exist, in the paths that tests make up.
const INVENTED: [&str; 3] = ["me", "user", "日本"];

/// Directories that hold what was made or fetched.
const NOT_OURS: [&str; 7] = [
    ".git",
    "target",
    "corpus",
    "artifacts",
    "coverage",
    "__pycache__",
    "node_modules",
];

/// Checks the tree below `root` and tells everything that is wrong with it.
pub fn check(root: &Path) -> Result<(), TaskError> {
    let mut problems = Vec::new();
    for directory in entries(&root.join("crates"))
        .into_iter()
        .chain([root.join("xtask")])
    {
        let name = directory.file_name().unwrap_or_default().to_string_lossy();
        if MAY_BE_UNSAFE.contains(&name.as_ref()) {
            for file in files(&directory) {
                if file.extension() == Some(OsStr::new("rs")) {
                    let text = fs::read_to_string(&file).unwrap_or_default();
                    let missing = unexplained_unsafe(&text).into_iter();
                    problems.extend(missing.map(|line| {
                        let file = shown(root, &file);
                        format!("{file}:{line}: unsafe code without a SAFETY line near it")
                    }));
                }
            }
        } else if directory.is_dir() && !forbids_unsafe(&directory) {
            let directory = shown(root, &directory);
            problems.push(format!("{directory}: lacks #![forbid(unsafe_code)]"));
        }
    }
    for file in files(root) {
        let bytes = fs::read(&file).unwrap_or_default();
        if let Some(path) = home_directory(&bytes) {
            let file = shown(root, &file);
            problems.push(format!(
                "{file}: holds the path of a home directory, {path}"
            ));
        }
    }
    if problems.is_empty() {
        Ok(())
    } else {
        Err(TaskError::Other(problems.join("\n")))
    }
}

fn shown(root: &Path, path: &Path) -> String {
    path.strip_prefix(root)
        .unwrap_or(path)
        .display()
        .to_string()
}

/// Whether each root of a crate forbids unsafe code.
fn forbids_unsafe(directory: &Path) -> bool {
    let roots = ["src/lib.rs", "src/main.rs"].map(|file| directory.join(file));
    let mut texts = roots
        .iter()
        .filter(|root| root.is_file())
        .map(fs::read_to_string)
        .peekable();
    texts.peek().is_some()
        && texts.all(|text| {
            text.is_ok_and(|text| {
                text.lines()
                    .any(|line| line.trim() == "#![forbid(unsafe_code)]")
            })
        })
}

/// The lines, from 1, of unsafe blocks, foreign declarations and implementations with no
/// `SAFETY` near them. An `unsafe extern` block promises only that its signatures are right, and
/// what it declares may carry the reason.
fn unexplained_unsafe(text: &str) -> Vec<usize> {
    let lines: Vec<&str> = text.lines().collect();
    let is_unsafe = |line: &str| {
        let code = line.split("//").next().unwrap_or_default();
        ["unsafe {", "unsafe impl", "unsafe extern \"C\" {"]
            .iter()
            .any(|word| code.contains(word))
    };
    let explained = |index: usize| {
        let first = index.saturating_sub(REASON_DISTANCE);
        let last = (index + 2).min(lines.len());
        lines[first..last]
            .iter()
            .any(|line| line.contains("SAFETY"))
    };
    (0..lines.len())
        .filter(|index| is_unsafe(lines[*index]) && !explained(*index))
        .map(|index| index + 1)
        .collect()
}

/// A path below somebody's home directory, if the bytes hold one.
fn home_directory(bytes: &[u8]) -> Option<String> {
    // Put together here, so that this file passes.
    let mut homes = ["root", "home", "Users"]
        .map(|name| format!("/{name}/"))
        .to_vec();
    let own = std::env::var("HOME").ok().filter(|home| home.len() > 1);
    homes.extend(own.map(|home| format!("{home}/")));
    homes.iter().find_map(|home| {
        let places = (0..bytes.len()).filter(|at| bytes[*at..].starts_with(home.as_bytes()));
        let is_invented = |rest: &[u8]| {
            INVENTED.iter().any(|name| {
                let rest = rest.strip_prefix(name.as_bytes());
                rest.is_some_and(|rest| rest.first() == Some(&b'/'))
            })
        };
        let found = places
            .map(|at| &bytes[at..])
            .find(|text| !is_invented(&text[home.len()..]))?;
        let text = String::from_utf8_lossy(&found[..found.len().min(60)]).into_owned();
        text.split_whitespace().next().map(str::to_owned)
    })
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// The files below a directory that belong to the source tree.
fn files(directory: &Path) -> Vec<PathBuf> {
    let is_ours = |path: &PathBuf| {
        let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
        !NOT_OURS.contains(&name) && !path.is_symlink()
    };
    entries(directory)
        .into_iter()
        .filter(is_ours)
        .flat_map(|path| {
            if path.is_dir() {
                files(&path)
            } else {
                vec![path]
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_keeps_its_rules() {
        check(&refsan_testkit::source_root()).unwrap();
    }

    #[test]
    fn unsafe_code_needs_its_reason() {
        let block = "fn f() {\n    unsafe { g() }\n}\n";
        assert_eq!(unexplained_unsafe(block), [2]);
        assert_eq!(
            unexplained_unsafe(&format!("// SAFETY: so.\n{block}")),
            [0; 0]
        );
        assert_eq!(unexplained_unsafe("unsafe impl Sync for A {}"), [1]);
        assert_eq!(unexplained_unsafe("// unsafe { }"), [0; 0]);
    }

    #[test]
    fn a_home_directory_is_seen_in_any_file() {
        let path = format!("\0/{}/somebody/x\0", "home");
        assert!(
            home_directory(path.as_bytes())
                .unwrap()
                .contains("somebody")
        );
        assert_eq!(home_directory(b"/usr/lib/home"), None);
        let invented = format!("/{}/me/app", "home");
        assert_eq!(home_directory(invented.as_bytes()), None);
    }

    #[test]
    fn a_crate_without_the_attribute_is_told() {
        let root = tempfile::tempdir().unwrap();
        let source = root.path().join("crates/a/src");
        fs::create_dir_all(&source).unwrap();
        fs::write(source.join("lib.rs"), "//! A.\n").unwrap();
        let told = check(root.path()).unwrap_err().to_string();
        assert!(told.contains("a: lacks"), "{told}");
        fs::write(source.join("lib.rs"), "#![forbid(unsafe_code)]\n").unwrap();
        check(root.path()).unwrap();
    }
}
