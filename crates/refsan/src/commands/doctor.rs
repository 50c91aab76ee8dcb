//! `refsan doctor`: what can be watched here, and why not.

pub mod bounded;
mod check;
mod examination;
pub mod interpreter;
mod search;
mod system;

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use crate::args::Doctor;
use crate::error::CommandError;
use crate::exit_code;
use check::{Check, State};
use examination::examine;

/// Runs the verb.
///
/// # Errors
/// None so far: what is wrong is what the doctor is there to say.
pub fn run(arguments: &Doctor) -> Result<u8, CommandError> {
    // A reader that has gone away does not change the verdict.
    let _ = writeln!(io::stdout(), "System");
    for check in system::checks() {
        say(&check);
    }
    let _ = writeln!(io::stdout(), "Interpreters");
    let (watchable, examined) = interpreters(arguments);
    let _ = writeln!(
        io::stdout(),
        "{watchable} of {examined} interpreters can be watched"
    );
    Ok(if watchable > 0 {
        exit_code::CLEAN
    } else {
        exit_code::NOT_IN_FORCE
    })
}

fn say(check: &Check) {
    let _ = writeln!(io::stdout(), "{check}");
}

/// Examines each interpreter once; returns how many can be watched, and of how many.
fn interpreters(arguments: &Doctor) -> (usize, usize) {
    let given = !arguments.interpreters.is_empty();
    let paths = if given {
        arguments
            .interpreters
            .iter()
            .map(|path| search::resolve(path))
            .collect()
    } else {
        search::candidates(&std::env::var_os("PATH").unwrap_or_default())
    };
    let (mut files, mut identities) = (BTreeSet::new(), BTreeSet::new());
    let (mut watchable, mut examined) = (0, 0);
    for path in paths {
        let file = path.canonicalize().unwrap_or_else(|_| path.clone());
        if !given && identities.contains(&file) || !files.insert(file) {
            continue;
        }
        let mut examination = examine(&path);
        let identity = examination.identity.clone();
        let seen = identity.is_some_and(|identity| !identities.insert(identity));
        if seen && !given {
            continue;
        }
        if !given && examination.identity.is_none() && is_script(&path) {
            // A version manager's stand-in for a version that is not chosen is no interpreter.
            examination.check.state = State::Warning;
            examination.check.advice = "it is a script that starts no Python here; choose a version with your version manager to use it".to_owned();
            say(&examination.check);
            continue;
        }
        examined += 1;
        watchable += usize::from(examination.can_be_watched);
        say(&examination.check);
    }
    if examined == 0 {
        say(&Check::problem(
            "no Python interpreter in PATH",
            "install one, or name an interpreter: refsan doctor /path/to/python3",
        ));
    }
    (watchable, examined)
}

fn is_script(path: &Path) -> bool {
    let mut start = [0; 2];
    File::open(path).is_ok_and(|mut file| file.read_exact(&mut start).is_ok()) && start == *b"#!"
}
