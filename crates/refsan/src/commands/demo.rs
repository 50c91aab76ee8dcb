//! placeholder
use crate::args::Demo;
use crate::error::CommandError;

/// Runs the verb.
///
/// # Errors
/// When it cannot be built.
pub fn run(_arguments: &Demo) -> Result<u8, CommandError> {
    Ok(0)
}
