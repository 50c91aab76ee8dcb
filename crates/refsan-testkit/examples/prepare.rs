//! Fills the test cache and shows what the programs do by themselves:
//! `cargo run -p refsan-testkit --example prepare -- [interpreters] [field] [scenarios]`
//! (`REFSAN_TEST_PYTHON=3.11,3.13` limits the interpreters).

use refsan_testkit::{Cache, Interpreter, debian, field, run_bare, scenario, source_root};
use std::error::Error;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(120);

fn main() -> Result<(), Box<dyn Error>> {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let is_wanted = |part: &str| wanted.is_empty() || wanted.iter().any(|one| one == part);
    let cache = Cache::open()?;
    if is_wanted("interpreters") {
        debian::fetch_or_skip(&cache);
        for one in Interpreter::all() {
            let headers = if one.include.is_empty() {
                "no headers"
            } else {
                "headers"
            };
            println!("{one}\t{headers}\t{}", one.path.display());
        }
    }
    if is_wanted("field") {
        show_field(&cache)?;
    }
    if is_wanted("scenarios") {
        show_scenarios(&cache)?;
    }
    Ok(())
}

fn show_field(cache: &Cache) -> Result<(), Box<dyn Error>> {
    let root = source_root().join("field");
    let mut all = Vec::new();
    for case in field::cases(&root)? {
        let case = case?;
        all.push((case.runs, case.observed));
    }
    for runs in field::clean(&root)? {
        all.push((runs?, String::from("status 0")));
    }
    for (runs, claim) in all {
        for version in &runs.python {
            for arguments in &runs.args {
                let label = format!("{} {} [{version}]", runs.id, arguments.join(" "));
                let Some(one) = field::interpreter_for(version) else {
                    println!("{label}: no such interpreter");
                    continue;
                };
                match runs.program(cache, one, arguments) {
                    Ok(program) => {
                        let outcome = run_bare(&program, LIMIT)?;
                        let seen = outcome.last_lines(2).replace('\n', " | ");
                        println!("{label}: {} ({seen})\n    claimed: {claim}", outcome.ending);
                    }
                    Err(error) => println!("{label}: {error}"),
                }
            }
        }
    }
    Ok(())
}

fn show_scenarios(cache: &Cache) -> Result<(), Box<dyn Error>> {
    for scenario in scenario::scenarios(&source_root().join("scenarios"))? {
        let scenario = match scenario {
            Ok(scenario) => scenario,
            Err(error) => {
                println!("{error}");
                continue;
            }
        };
        for one in Interpreter::all()
            .iter()
            .filter(|one| one.meets(&scenario.python))
        {
            let label = format!("{} [{one}]", scenario.name);
            match scenario.prepare(cache, one) {
                Ok(program) => {
                    let outcome = run_bare(&program, LIMIT)?;
                    let verdict = scenario
                        .bare
                        .judge(&outcome)
                        .err()
                        .unwrap_or("as claimed".into());
                    println!("{label}: {}: {verdict}", outcome.ending);
                }
                Err(error) => println!("{label}: {error}"),
            }
        }
    }
    Ok(())
}
