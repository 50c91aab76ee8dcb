//! What kept names out of a report, for people to act on.

use std::path::PathBuf;

/// Why a module's addresses have no names.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SymbolWarning {
    /// The file on disk is not the one that the process had mapped.
    Replaced {
        /// The file.
        path: PathBuf,
        /// The build id of the mapped file, in hexadecimal.
        expected: String,
        /// The build id of the file on disk.
        found: String,
    },
    /// The file cannot be read, or it is no ELF file for x86-64.
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
}

impl std::fmt::Display for SymbolWarning {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Replaced {
                path,
                expected,
                found,
            } => write!(
                formatter,
                "{} was replaced since the program ran: its build id was {expected} and is {found} now; its functions are not named. Run the program again, or put the old file back",
                path.display()
            ),
            Self::Unreadable { path, reason } => write!(
                formatter,
                "the functions of {} are not named: {reason}",
                path.display()
            ),
        }
    }
}
