//! The statuses with which refsan ends. A program that is run passes its own through.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// Nothing was found.
pub const CLEAN: u8 = 0;
/// `report`: there are findings.
pub const FINDINGS: u8 = 1;
/// Wrong usage, unreadable input or an internal error; never used for findings.
pub const USAGE: u8 = 2;
/// `run`: the hooks were not in force, so nothing is claimed.
pub const NOT_IN_FORCE: u8 = 3;
/// `run`: there are findings although the program succeeded. ThreadSanitizer's number.
pub const FINDINGS_IN_SUCCESS: u8 = 66;

/// The status of a program as a shell shows it: signal n is 128 + n.
pub fn of_program(status: ExitStatus) -> u8 {
    let code = status
        .code()
        .or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok())
        .unwrap_or(u8::MAX)
}
