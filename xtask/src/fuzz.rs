//! `cargo xtask fuzz`: the fuzz targets, each for a while.

use crate::command::{TaskError, cargo};

/// The fuzz targets.
const TARGETS: [&str; 2] = ["trace_reader", "native_stacks"];

/// What all targets start from: they read the same kind of input.
const SEEDS: &str = "fuzz/seeds/traces";

/// What to fuzz and for how long.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// How long each target runs, in seconds.
    #[arg(long, default_value_t = 60, value_name = "N")]
    seconds: u64,
    /// Only this target.
    #[arg(long, value_name = "NAME", value_parser = TARGETS)]
    target: Option<String>,
}

/// Runs the fuzz targets. A target stops at the first input that makes it crash, and keeps it in
/// `fuzz/artifacts`.
pub fn run(options: &Options) -> Result<(), TaskError> {
    let limit = format!("-max_total_time={}", options.seconds);
    for target in TARGETS {
        if options.target.as_deref().is_some_and(|only| only != target) {
            continue;
        }
        // What is found goes to the first directory, which is not kept; the second holds the seeds.
        let corpus = format!("fuzz/corpus/{target}");
        std::fs::create_dir_all(refsan_testkit::source_root().join(&corpus))
            .map_err(|error| TaskError::Other(format!("cannot make {corpus}: {error}")))?;
        cargo(&[
            "+nightly",
            "fuzz",
            "run",
            target,
            &corpus,
            SEEDS,
            "--",
            &limit,
            "-print_final_stats=1",
        ])?;
    }
    Ok(())
}
