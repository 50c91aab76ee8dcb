//! What the trials of all test targets share: how a skip, a failure and a missing piece become
//! the completion of a trial.

use crate::bounded::Outcome;
use crate::environments::EnvironmentError;
use crate::program::Program;
use crate::skip::Skip;
use crate::watch::Watched;
use libtest_mimic::{Completion, Failed, Trial};

/// How a trial completes.
pub(crate) type Completed = Result<Completion, Failed>;

/// Prints the skip and completes the trial as ignored, with the reason.
pub(crate) fn skipped(what: &str, reason: impl ToString) -> Completed {
    let reason = reason.to_string();
    Skip::new(what, reason.clone()).print();
    Ok(Completion::ignored_with(reason))
}

/// A trial that is skipped whenever it is run.
pub(crate) fn skipped_trial(name: String, reason: String) -> Trial {
    Trial::ignorable_test(name.clone(), move || skipped(&name, reason))
}

/// A trial that fails whenever it is run, for a case that cannot be read.
pub(crate) fn failed_trial(name: &str, reason: impl ToString) -> Trial {
    let reason = reason.to_string();
    Trial::test(name, move || Err(Failed::from(reason)))
}

/// A failed expectation, with everything that was seen.
pub(crate) fn failure(
    reason: &str,
    program: &Program,
    bare: Option<&Outcome>,
    watched: Option<&Watched>,
) -> Failed {
    let mut text = format!("{reason}\n=== program\n{:?}", program.command_line);
    if let Some(bare) = bare {
        text.push_str(&format!("\n=== by itself: {bare}"));
    }
    if let Some(watched) = watched {
        text.push_str(&format!("\n=== under refsan: {watched}"));
    }
    Failed::from(text)
}

/// Whether an environment cannot exist on this machine, as opposed to having failed.
pub(crate) fn is_unsupported(error: &EnvironmentError) -> bool {
    matches!(
        error,
        EnvironmentError::NoPip | EnvironmentError::NoWheel { .. }
    )
}
