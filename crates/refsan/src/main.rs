//! refsan: a sanitizer for Python objects held by native code.
#![forbid(unsafe_code)]

mod analysis;
mod args;
mod commands;
mod error;
mod exit_code;
mod output;
mod program;
mod runtime_library;
mod traces;
mod watch;

use std::process::ExitCode;

use clap::Parser;

use args::{Arguments, Command};

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let result = match arguments.command {
        Command::Run(run) => commands::run::run(&run),
        Command::Record(record) => commands::record::run(&record),
        Command::Report(report) => commands::report::run(&report),
        Command::Rule(rule) => commands::rule::run(&rule),
        Command::Doctor(doctor) => commands::doctor::run(&doctor),
        Command::Demo(demo) => commands::demo::run(&demo),
    };
    match result {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("refsan: {error}");
            ExitCode::from(exit_code::USAGE)
        }
    }
}
