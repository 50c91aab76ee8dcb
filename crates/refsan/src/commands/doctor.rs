//! placeholder
use crate::args::Doctor;
use crate::error::CommandError;

/// Runs the verb.
///
/// # Errors
/// Never.
pub fn run(_arguments: &Doctor) -> Result<u8, CommandError> {
    Ok(0)
}
