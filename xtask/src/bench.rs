//! `cargo xtask bench`: what refsan costs, beside `-X dev` and valgrind, in one go.
//!
//! The ways to run a program take turns, round after round, so that whatever else the machine does
//! meets all of them; what is told is the median of the ratios of each round.

mod measure;
mod rows;
mod statistics;
mod table;

use std::path::PathBuf;

use refsan_testkit::{Cache, Skip, source_root};

use crate::command::{TaskError, cargo};
use measure::{Launcher, Sample, Way};
use rows::Row;
use table::Line;

/// How to measure.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Rounds of the rows that work; rows that only start run three times as many.
    #[arg(long, default_value_t = 15, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Only rows whose title contains this text.
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Leave valgrind out.
    #[arg(long)]
    no_valgrind: bool,
    /// The refsan to measure [default: built now, for release].
    #[arg(long, value_name = "FILE")]
    refsan: Option<PathBuf>,
}

/// Rounds of the short runs that valgrind is compared with.
const SHORT_ROUNDS: u32 = 3;

/// Measures the rows and prints the table on standard output.
pub fn run(options: &Options) -> Result<(), TaskError> {
    let refsan = match &options.refsan {
        Some(path) => path.clone(),
        None => build()?,
    };
    let cache = Cache::open().map_err(|error| TaskError::Other(error.to_string()))?;
    let launcher = Launcher::new(refsan)?;
    let valgrind = !options.no_valgrind && launcher.has_valgrind();
    if !valgrind && !options.no_valgrind {
        Skip::new("valgrind", "it is not installed").print();
    }
    let mut lines = Vec::new();
    for row in rows::ROWS {
        if options
            .only
            .as_ref()
            .is_some_and(|text| !row.title.contains(text.as_str()))
        {
            continue;
        }
        match row.program(&cache) {
            Ok(programs) => {
                eprintln!("measuring: {}", row.title);
                lines.push(measure_row(
                    row,
                    &programs,
                    &launcher,
                    options.rounds,
                    valgrind,
                )?);
            }
            Err(skip) => skip.print(),
        }
    }
    print!("{}", table::render(&lines, options.rounds));
    Ok(())
}

fn build() -> Result<PathBuf, TaskError> {
    cargo(&["build", "--release", "--package", "refsan"])?;
    let target = std::env::var_os("CARGO_TARGET_DIR");
    let target = target.map_or_else(|| source_root().join("target"), PathBuf::from);
    Ok(target.join("release/refsan"))
}

fn measure_row(
    row: &Row,
    programs: &rows::Programs,
    launcher: &Launcher,
    rounds: u32,
    valgrind: bool,
) -> Result<Line, TaskError> {
    let take_turns = |program, ways: &[Way], rounds| -> Result<Vec<Vec<Sample>>, TaskError> {
        (0..rounds)
            .map(|_| {
                let samples = ways.iter().map(|way| launcher.sample(program, *way));
                samples.collect()
            })
            .collect()
    };
    let rounds = if row.is_start_up() {
        3 * rounds
    } else {
        rounds
    };
    let ways = [Way::Bare, Way::Refsan, Way::DevelopmentMode];
    // Not counted: it fills the caches of the file system, and refsan's.
    take_turns(&programs.short, &ways, 1)?;
    let long = take_turns(&programs.long, &ways, rounds)?;
    let short = if valgrind {
        take_turns(&programs.short, &[Way::Bare, Way::Valgrind], SHORT_ROUNDS)?
    } else {
        Vec::new()
    };
    Ok(Line::new(row.title, &long, &short))
}
