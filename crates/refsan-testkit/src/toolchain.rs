//! Builds a scenario with the system's compilers, into the cache.

mod bindings;
mod compiler;

use crate::bounded::run_bounded;
use crate::cache::{Cache, CacheError};
use crate::environments::{Environment, EnvironmentError};
use crate::interpreters::Interpreter;
use crate::key::Key;
use crate::program::Program;
use crate::scenario::{Scenario, Toolchain};
use compiler::Compiler;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use std::{fs, io};

/// Raise when scenarios are built in another way.
const LAYOUT: u32 = 2;

/// Cargo compiles PyO3 with its dependencies; everything else takes seconds.
const LIMIT: Duration = Duration::from_secs(900);

/// Why a scenario could not be built for an interpreter.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// It cannot be built for this interpreter on this machine: a reason to skip, not to fail.
    #[error("{0}")]
    Unsupported(String),
    /// Its environment could not be made.
    #[error(transparent)]
    Environment(#[from] EnvironmentError),
    /// A tool failed.
    #[error("`{command}` failed: {output}")]
    Failed {
        /// The command line.
        command: String,
        /// What it said.
        output: String,
    },
    /// The environment lacks something that the toolchain needs.
    #[error("expected {path} after installing {requires:?}; add the package to `requires`")]
    Package {
        /// What is missing.
        path: String,
        /// What the scenario requires.
        requires: Vec<String>,
    },
    /// A file could not be handled.
    #[error(transparent)]
    File(#[from] io::Error),
    /// The cache cannot be used.
    #[error(transparent)]
    Cache(#[from] CacheError),
}

/// What a build works with.
struct Build<'scenario> {
    scenario: &'scenario Scenario,
    interpreter: &'scenario Interpreter,
    environment: Environment,
    cache: &'scenario Cache,
    /// Where the results go.
    directory: PathBuf,
}

impl Scenario {
    /// Builds the scenario for `interpreter`, unless the cache holds it, and returns the program
    /// to run.
    ///
    /// # Errors
    /// [`BuildError::Unsupported`] when there is a reason to skip it here; else what failed.
    pub fn prepare(&self, cache: &Cache, interpreter: &Interpreter) -> Result<Program, BuildError> {
        let compiled = !matches!(self.toolchain, Toolchain::None | Toolchain::Pyo3);
        if compiled && interpreter.include.is_empty() {
            let reason = format!("no Python.h for CPython {interpreter}; install its headers");
            return Err(BuildError::Unsupported(reason));
        }
        if self.toolchain == Toolchain::CppEmbed && interpreter.library.is_none() {
            let reason = format!("CPython {interpreter} has no shared library to embed");
            return Err(BuildError::Unsupported(reason));
        }
        let environment = Environment::new(cache, interpreter, &self.requires)?;
        let name = format!("scenarios/{}", self.key(interpreter)?);
        let python = environment.python.clone();
        let directory = cache.once(&name, |directory| {
            let directory = directory.to_path_buf();
            Build {
                scenario: self,
                interpreter,
                environment,
                cache,
                directory,
            }
            .run()
        })?;
        let program = match self.toolchain {
            Toolchain::CppEmbed => Program::new(directory.join(&self.drive)),
            _ => Program::new(python).argument(&self.drive),
        };
        Ok(program.variable("PYTHONPATH", directory))
    }

    fn key(&self, interpreter: &Interpreter) -> io::Result<String> {
        let mut key = Key::new("scenario", LAYOUT)
            .text(&interpreter.path.to_string_lossy())
            .text(&interpreter.version.to_string())
            // Debug information names the sources by their path.
            .text(&self.directory.to_string_lossy());
        for file in files_below(&self.directory)? {
            // The description holds the toolchain and the requirements.
            key = key
                .text(&file.to_string_lossy())
                .file(&self.directory.join(file))?;
        }
        Ok(key.finish())
    }
}

impl Build<'_> {
    fn run(&self) -> Result<(), BuildError> {
        self.build_libraries()?;
        match self.scenario.toolchain {
            Toolchain::None => Ok(()),
            Toolchain::C | Toolchain::Cpp => {
                self.link_extension(&self.compiler(), &self.interpreter.extension_suffix)
            }
            Toolchain::LimitedC => self.link_extension(&self.compiler(), ".abi3.so"),
            Toolchain::CppEmbed => self.build_program(),
            Toolchain::Pybind11 => self.build_pybind11(),
            Toolchain::Nanobind => self.build_nanobind(),
            Toolchain::Cython => self.build_cython(),
            Toolchain::Pyo3 => self.build_pyo3(),
            Toolchain::Cffi => self.build_cffi(),
        }
    }

    fn compiler(&self) -> Compiler {
        Compiler::new(&self.interpreter.include).sources(&self.scenario.sources)
    }

    fn build_libraries(&self) -> Result<(), BuildError> {
        for library in &self.scenario.libraries {
            let directory = self.directory.join(&library.directory);
            fs::create_dir_all(&directory)?;
            let file = format!("lib{}.so", library.name);
            let sources = library
                .sources
                .iter()
                .map(|source| self.scenario.directory.join(source));
            let mut compiler = Compiler::new(&self.interpreter.include)
                .sources(&sources.collect::<Vec<_>>())
                .argument("-shared")
                .argument(format!("-Wl,-soname,{file}"));
            if let Some(rpath) = &library.rpath {
                compiler = compiler.argument(format!("-Wl,-rpath,{rpath}"));
            }
            run(&mut compiler.command(&directory.join(file)))?;
        }
        Ok(())
    }

    fn link_extension(&self, compiler: &Compiler, suffix: &str) -> Result<(), BuildError> {
        let compiler = self.with_libraries(compiler.clone().argument("-shared"));
        run(&mut compiler.command(&self.directory.join(format!("extension{suffix}")))).map(drop)
    }

    fn build_program(&self) -> Result<(), BuildError> {
        let mut compiler = self.compiler();
        if let Some(library) = &self.interpreter.library {
            let directory = library.parent().unwrap_or(Path::new("/"));
            compiler = compiler
                // For programs that load it while they run.
                .argument(format!("-DPYTHON_LIBRARY=\"{}\"", library.display()))
                .argument("-Wl,--as-needed")
                .argument(library)
                .argument(format!("-Wl,-rpath,{}", directory.display()))
                .argument("-ldl");
        }
        let compiler = self.with_libraries(compiler);
        run(&mut compiler.command(&self.directory.join(&self.scenario.drive))).map(drop)
    }

    /// Links the libraries whose symbols are used; the others are there to be loaded at run time.
    fn with_libraries(&self, mut compiler: Compiler) -> Compiler {
        for library in &self.scenario.libraries {
            let directory = self.directory.join(&library.directory);
            compiler = compiler
                .argument("-Wl,--as-needed")
                .argument(directory.join(format!("lib{}.so", library.name)))
                .argument(format!(
                    "-Wl,-rpath,{}",
                    Path::new("$ORIGIN").join(&library.directory).display()
                ));
        }
        compiler
    }
}

/// Runs a tool to the end and returns its standard output.
fn run(command: &mut Command) -> Result<String, BuildError> {
    let output = match run_bounded(command, LIMIT) {
        Ok(outcome) if outcome.succeeded() => return Ok(outcome.stdout),
        // Messages for programs, such as cargo's, go to standard output.
        Ok(outcome) => format!("{}\n{}", outcome.ending, outcome.stderr.trim_end()),
        Err(error) => error.to_string(),
    };
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
    Err(BuildError::Failed {
        command: words.join(" "),
        output,
    })
}

/// The files below a directory, relative to it, sorted.
fn files_below(directory: &Path) -> io::Result<Vec<PathBuf>> {
    fn collect(root: &Path, below: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
        for entry in fs::read_dir(root.join(below))? {
            let entry = entry?;
            let path = below.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                collect(root, &path, files)?;
            } else {
                files.push(path);
            }
        }
        Ok(())
    }
    let mut files = Vec::new();
    collect(directory, Path::new(""), &mut files)?;
    files.sort();
    Ok(files)
}
