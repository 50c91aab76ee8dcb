//! What the integration tests of refsan stand on: real interpreters, real wheels and small
//! faulty extensions, found or built on the machine at hand and kept in a cache outside the tree.
//!
//! Whatever a machine cannot provide is skipped *in print*, with the reason: a test that did not
//! run must never look like one that passed.
#![forbid(unsafe_code)]

mod bounded;
mod cache;
pub mod debian;
mod environments;
pub mod field;
mod field_trials;
mod interpreters;
mod key;
mod probe;
mod program;
mod report;
pub mod scenario;
mod scenario_trials;
mod skip;
mod toolchain;
mod trial;
mod watch;

pub use bounded::{Ending, Outcome, run_bounded};
pub use cache::{Cache, CacheError, Lock};
pub use environments::{Environment, EnvironmentError};
pub use field_trials::field_trials;
pub use interpreters::Interpreter;
pub use key::Key;
pub use probe::Linkage;
pub use program::Program;
pub use report::{Finding, Report};
pub use scenario_trials::scenario_trials;
pub use skip::Skip;
pub use toolchain::BuildError;
pub use watch::{Watched, run_bare, run_watched};

use std::path::{Path, PathBuf};

/// The root of the source tree that this crate was built from.
pub fn source_root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_path_buf()
}
