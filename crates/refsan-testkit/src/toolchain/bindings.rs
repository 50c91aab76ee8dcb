//! Binding generators: each built as its own documentation says, without a build system.

use super::{Build, BuildError, Compiler, files_below, run};
use crate::key::Key;
use serde::Deserialize;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

impl Build<'_> {
    pub(super) fn build_pybind11(&self) -> Result<(), BuildError> {
        let include = self.package_path("pybind11/include")?;
        let compiler = self
            .compiler()
            .include(&include)
            .argument("-fvisibility=hidden");
        self.link_extension(&compiler, &self.interpreter.extension_suffix)
    }

    pub(super) fn build_nanobind(&self) -> Result<(), BuildError> {
        let package = self.package_path("nanobind")?;
        let configure = |compiler: Compiler| {
            compiler
                .include(&package.join("include"))
                .include(&package.join("ext/robin_map/include"))
                .argument("-fvisibility=hidden")
                .argument("-fno-strict-aliasing")
                .argument("-DNDEBUG")
        };
        // The library part takes most of the time, and is the same for all scenarios.
        let source = package.join("src/nb_combined.cpp");
        let key = Key::new("nanobind", 1)
            .text(&source.to_string_lossy())
            .finish();
        let library = self.cache.once(&format!("objects/{key}"), |directory| {
            let compiler = configure(Compiler::new(&self.interpreter.include))
                .sources(std::slice::from_ref(&source))
                .argument("-c");
            run(&mut compiler.command(&directory.join("nanobind.o"))).map(drop)
        })?;
        let compiler = configure(self.compiler()).argument(library.join("nanobind.o"));
        self.link_extension(&compiler, &self.interpreter.extension_suffix)
    }

    pub(super) fn build_cython(&self) -> Result<(), BuildError> {
        let is_cython = |path: &PathBuf| path.extension() == Some(OsStr::new("pyx"));
        let (modules, mut sources): (Vec<PathBuf>, Vec<PathBuf>) =
            self.scenario.sources.iter().cloned().partition(is_cython);
        for module in &modules {
            let stem = module.file_stem().unwrap_or_default();
            let translated = self.directory.join(stem).with_extension("c");
            let mut command = Command::new(&self.environment.python);
            // With line directives, debug information leads to the .pyx file.
            command.args(["-m", "cython", "-3", "--line-directives", "-o"]);
            run(command.arg(&translated).arg(module))?;
            sources.push(translated);
        }
        let compiler = Compiler::new(&self.interpreter.include)
            .include(&self.scenario.directory)
            .sources(&sources);
        self.link_extension(&compiler, &self.interpreter.extension_suffix)
    }

    pub(super) fn build_pyo3(&self) -> Result<(), BuildError> {
        let source = self.directory.join("source");
        self.copy_sources_to(&source)?;
        // One target directory an interpreter: PyO3 and its dependencies are compiled once, and
        // not again whenever the interpreter changes.
        let name = format!(
            "cargo-{}",
            Key::new("cargo", 1).text(&self.python()).finish()
        );
        let _lock = self.cache.lock(&name)?;
        let mut command = Command::new("cargo");
        command
            .args([
                "build",
                "--release",
                "--quiet",
                "--message-format=json-render-diagnostics",
                "--target-dir",
            ])
            .arg(self.cache.entry(&name))
            .env("PYO3_PYTHON", &self.interpreter.path)
            // As in a wheel: the interpreter provides the C-API, no library is linked.
            .env("PYO3_BUILD_EXTENSION_MODULE", "1")
            .env("PYO3_USE_ABI3_FORWARD_COMPATIBILITY", "1")
            .env("CARGO_PROFILE_RELEASE_DEBUG", "line-tables-only")
            .env_remove("RUSTFLAGS")
            .current_dir(&source);
        let messages = run(&mut command)?;
        let library = built_library(&messages).ok_or_else(|| BuildError::Failed {
            command: "cargo build".into(),
            output: "no shared library was built: the crate type must be \"cdylib\"".into(),
        })?;
        let suffix = &self.interpreter.extension_suffix;
        fs::copy(library, self.directory.join(format!("extension{suffix}")))?;
        Ok(())
    }

    /// Runs the scenario's first source, a script that writes the extension into the directory
    /// that it is started in.
    pub(super) fn build_cffi(&self) -> Result<(), BuildError> {
        self.copy_sources_to(&self.directory)?;
        let Some(script) = self
            .scenario
            .sources
            .first()
            .and_then(|script| script.file_name())
        else {
            let output = "`sources` must name the cffi build script first".into();
            return Err(BuildError::Failed {
                command: "cffi".into(),
                output,
            });
        };
        let mut command = Command::new(&self.environment.python);
        command
            .arg(script)
            .current_dir(&self.directory)
            .env("CFLAGS", self.include_flags());
        run(&mut command).map(drop)
    }

    // The interpreter's own headers may be missing where others of its version lend theirs.
    fn include_flags(&self) -> String {
        let include = self.interpreter.include.iter();
        include
            .map(|directory| format!("-I{} ", directory.display()))
            .collect()
    }

    fn python(&self) -> String {
        self.interpreter.path.to_string_lossy().into_owned()
    }

    fn package_path(&self, path: &str) -> Result<PathBuf, BuildError> {
        let missing = || BuildError::Package {
            path: path.to_string(),
            requires: self.scenario.requires.clone(),
        };
        let packages = self
            .environment
            .site_packages
            .as_ref()
            .ok_or_else(missing)?;
        Some(packages.join(path))
            .filter(|path| path.is_dir())
            .ok_or_else(missing)
    }

    fn copy_sources_to(&self, target: &Path) -> Result<(), BuildError> {
        for file in files_below(&self.scenario.directory)? {
            let copy = target.join(&file);
            fs::create_dir_all(copy.parent().unwrap_or(target))?;
            fs::copy(self.scenario.directory.join(&file), copy)?;
        }
        Ok(())
    }
}

#[derive(Deserialize)]
struct CargoMessage {
    reason: String,
    #[serde(default)]
    filenames: Vec<PathBuf>,
}

/// The last shared library among cargo's messages.
fn built_library(messages: &str) -> Option<PathBuf> {
    let messages = messages
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    let artifacts = messages.filter(|message: &CargoMessage| message.reason == "compiler-artifact");
    let mut files: Vec<PathBuf> = artifacts.flat_map(|message| message.filenames).collect();
    files.retain(|file| {
        file.extension() == Some(OsStr::new("so"))
            && !file.components().any(|part| part.as_os_str() == "deps")
    });
    files.pop()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_library_is_found_in_cargos_messages() {
        let messages = "{\"reason\":\"compiler-artifact\",\"filenames\":[\"/t/deps/libmacros.so\"]}\n\
            {\"reason\":\"compiler-artifact\",\"filenames\":[\"/t/libx.so\",\"/t/libx.rlib\"]}\n\
            {\"reason\":\"build-finished\",\"success\":true}\n";
        assert_eq!(built_library(messages), Some(PathBuf::from("/t/libx.so")));
        assert_eq!(built_library("not cargo's"), None);
    }
}
