//! The command line of the system's C or C++ compiler.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A compiler call in the making.
#[derive(Debug, Clone)]
pub(super) struct Compiler {
    flags: Vec<OsString>,
    sources: Vec<PathBuf>,
}

impl Compiler {
    /// Optimised with debug information, as a distributor builds, and with these directories.
    pub fn new(include: &[PathBuf]) -> Self {
        let new = Self {
            flags: ["-O2", "-g", "-fPIC", "-Wall", "-pthread"]
                .map(OsString::from)
                .to_vec(),
            sources: Vec::new(),
        };
        include
            .iter()
            .fold(new, |compiler, directory| compiler.include(directory))
    }

    /// Adds a directory of headers.
    pub fn include(self, directory: &Path) -> Self {
        let mut flag = OsString::from("-I");
        flag.push(directory);
        self.argument(flag)
    }

    /// Adds any argument. It goes behind the sources, where libraries have to be.
    pub fn argument(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.flags.push(argument.as_ref().to_os_string());
        self
    }

    /// Adds sources.
    pub fn sources(mut self, sources: &[PathBuf]) -> Self {
        self.sources.extend_from_slice(sources);
        self
    }

    /// The call that writes `output`: of the C++ compiler as soon as one source is C++.
    pub fn command(&self, output: &Path) -> Command {
        let is_cpp = |source: &PathBuf| {
            matches!(
                source.extension().and_then(OsStr::to_str),
                Some("cpp" | "cc" | "cxx")
            )
        };
        let mut command = if self.sources.iter().any(is_cpp) {
            let mut command = Command::new(program("CXX", "c++"));
            command.arg("-std=c++17");
            command
        } else {
            Command::new(program("CC", "cc"))
        };
        command
            .arg("-o")
            .arg(output)
            .args(&self.sources)
            .args(&self.flags);
        command
    }
}

fn program(variable: &str, default: &str) -> OsString {
    std::env::var_os(variable)
        .filter(|value| !value.is_empty())
        .unwrap_or_else(|| default.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_cpp_source_makes_it_a_cpp_compiler_and_libraries_go_last() {
        let compiler = Compiler::new(&["/include".into()]).sources(&["a.c".into(), "b.cpp".into()]);
        let command = compiler.argument("libx.so").command(Path::new("out.so"));
        let words: Vec<_> = command
            .get_args()
            .map(|word| word.to_str().unwrap())
            .collect();
        assert_eq!(words[..5], ["-std=c++17", "-o", "out.so", "a.c", "b.cpp"]);
        assert_eq!(words.last(), Some(&"libx.so"));
        assert!(words.contains(&"-I/include"));
    }
}
