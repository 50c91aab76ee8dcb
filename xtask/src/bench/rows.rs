//! What is measured.

use refsan_testkit::scenario::Scenario;
use refsan_testkit::{Cache, Environment, Interpreter, Program, Skip, source_root};

/// A row of the table.
pub struct Row {
    /// What it is.
    pub title: &'static str,
    /// The version of Python.
    python: &'static str,
    /// Pinned packages.
    requires: &'static [&'static str],
    work: Work,
}

enum Work {
    /// A script in `benches`, with the rounds of its work: about a second, and for valgrind about
    /// as long.
    Script {
        file: &'static str,
        long: u32,
        short: u32,
    },
    /// The same for an extension that is built first.
    Extension {
        directory: &'static str,
        long: u32,
        short: u32,
    },
    /// Nothing but a start.
    Start { code: &'static str },
}

/// The programs of a row.
pub struct Programs {
    /// The one that is measured.
    pub long: Program,
    /// The same with less to do.
    pub short: Program,
}

const NUMPY: &[&str] = &["numpy==2.1.0", "scipy==1.14.1"];

/// All rows.
pub const ROWS: &[Row] = &[
    Row {
        title: "circt 1.62.0 attributes (pybind11, 3.11)",
        python: "3.11",
        requires: &["circt==1.62.0"],
        work: Work::Script {
            file: "circt_attributes.py",
            long: 1000,
            short: 20,
        },
    },
    Row {
        title: "circt 1.162.0 attributes (nanobind, 3.13)",
        python: "3.13",
        requires: &["circt==1.162.0"],
        work: Work::Script {
            file: "circt_attributes.py",
            long: 250,
            short: 10,
        },
    },
    Row {
        title: "pybind11 calls (3.11)",
        python: "3.11",
        requires: &[],
        work: Work::Extension {
            directory: "pybind11_calls",
            long: 1200,
            short: 10,
        },
    },
    Row {
        title: "numpy on small arrays (3.11)",
        python: "3.11",
        requires: NUMPY,
        work: Work::Script {
            file: "numpy_small_arrays.py",
            long: 200,
            short: 3,
        },
    },
    Row {
        title: "numpy and scipy numeric work (3.11)",
        python: "3.11",
        requires: NUMPY,
        work: Work::Script {
            file: "numeric_work.py",
            long: 100,
            short: 5,
        },
    },
    Row {
        title: "pure Python (3.11)",
        python: "3.11",
        requires: &[],
        work: Work::Script {
            file: "pure_python.py",
            long: 1000,
            short: 20,
        },
    },
    Row {
        title: "start-up: `python -c pass` (3.11)",
        python: "3.11",
        requires: &[],
        work: Work::Start { code: "pass" },
    },
    Row {
        title: "start-up: `import numpy` (3.11)",
        python: "3.11",
        requires: NUMPY,
        work: Work::Start {
            code: "import numpy",
        },
    },
];

impl Row {
    /// Whether it measures a whole process, from start to end.
    pub fn is_start_up(&self) -> bool {
        matches!(self.work, Work::Start { .. })
    }

    /// Makes what the row needs. The error says why this machine cannot.
    pub fn program(&self, cache: &Cache) -> Result<Programs, Skip> {
        let skip = |reason: String| Skip::new(self.title, reason);
        let interpreter = Interpreter::find(self.python)
            .ok_or_else(|| skip(format!("no CPython {} was found", self.python)))?;
        let python = || {
            let requires: Vec<String> = self.requires.iter().map(ToString::to_string).collect();
            Environment::new(cache, interpreter, &requires)
                .map(|environment| Program::new(environment.python))
                .map_err(|error| skip(error.to_string()))
        };
        let benches = source_root().join("benches");
        let (program, long, short) = match self.work {
            Work::Script { file, long, short } => {
                (python()?.argument(benches.join(file)), long, short)
            }
            Work::Extension {
                directory,
                long,
                short,
            } => {
                let scenario = Scenario::read(&benches, &benches.join(directory))
                    .map_err(|error| skip(error.to_string()))?;
                let program = scenario
                    .prepare(cache, interpreter)
                    .map_err(|error| skip(error.to_string()))?;
                (program, long, short)
            }
            Work::Start { code } => {
                let program = python()?.argument("-c").argument(code);
                return Ok(Programs {
                    short: program.clone(),
                    long: program,
                });
            }
        };
        // One thread: the threads of a matrix product would compete with the rest of the machine.
        // And the same dictionaries in every run.
        let program = program
            .variable("OPENBLAS_NUM_THREADS", "1")
            .variable("PYTHONHASHSEED", "0");
        Ok(Programs {
            short: program.clone().argument(short.to_string()),
            long: program.argument(long.to_string()),
        })
    }
}
