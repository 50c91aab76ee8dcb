//! `refsan rule`: explain a rule.

use std::io::Write;

use crate::args::Rule;
use crate::error::CommandError;
use crate::exit_code;

/// Runs the verb.
///
/// # Errors
/// Never; the signature is that of every verb.
pub fn run(arguments: &Rule) -> Result<u8, CommandError> {
    let text = match arguments.rule {
        Some(rule) => refsan_rules::explain(rule),
        None => refsan_rules::index(),
    };
    // A pager that was closed has seen enough.
    let _ = std::io::stdout().lock().write_all(text.as_bytes());
    Ok(exit_code::CLEAN)
}
