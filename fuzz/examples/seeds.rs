//! Makes the seeds anew from scenarios:
//! `cargo run --manifest-path fuzz/Cargo.toml --example seeds -- target/release/refsan`

use std::error::Error;
use std::path::Path;
use std::process::Command;

use refsan_testkit::scenario::Scenario;
use refsan_testkit::{Cache, Interpreter, source_root};

/// One for each kind of record and finding; scenarios in C, so that the traces are small.
const SCENARIOS: [&str; 5] = [
    "fail/rs101/allow-threads-region",
    "fail/rs102/foreign-thread-append",
    "fail/rs201/static-destructor-release",
    "fail/rs202/exit-handler-append",
    "fail/rs203/daemon-thread-allow-threads",
];

fn main() -> Result<(), Box<dyn Error>> {
    let refsan = std::env::args_os().nth(1).ok_or("name a refsan")?;
    let refsan = std::fs::canonicalize(refsan)?;
    let interpreter = Interpreter::find("3.11").ok_or("no CPython 3.11")?;
    let (cache, root) = (Cache::open()?, source_root().join("scenarios"));
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds/traces");
    std::fs::create_dir_all(&seeds)?;
    for name in SCENARIOS {
        let scenario = Scenario::read(&root, &root.join(name))?;
        let program = scenario.prepare(&cache, interpreter)?;
        let traces = tempfile::tempdir()?;
        let mut record = Command::new(&refsan);
        record
            .args(["record", "--quiet", "--trace-dir"])
            .arg(traces.path())
            .arg("--")
            .args(&program.command_line)
            .envs(program.variables);
        record.status()?;
        let entry = std::fs::read_dir(traces.path())?.next();
        let trace = std::fs::read(entry.ok_or("no trace was written")??.path())?;
        let input = refsan_fuzz::trace::to_input(&trace).ok_or("the trace is not whole")?;
        let seed = seeds.join(name.replace('/', "-"));
        println!("{}: {} bytes", seed.display(), input.len());
        std::fs::write(seed, input)?;
    }
    Ok(())
}
