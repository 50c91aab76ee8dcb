//! Why a file is not an image: typed, so that the audit can count and group the reasons.

/// Why bytes could not be read as an image.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ImageError {
    /// The bytes begin like none of the supported formats.
    #[error(
        "expected an ELF, Mach-O or PE file, found a file that begins with {found:02x?}; leave it out"
    )]
    NotABinary {
        /// The first bytes, at most eight.
        found: Vec<u8>,
    },
    /// A binary for a processor that is not decoded.
    #[error(
        "expected code for x86-64, or for arm64 of Linux or macOS, found {0}; audit another build"
    )]
    UnsupportedArchitecture(String),
    /// A binary without code that is loaded as such, with the reason.
    #[error("expected a program or a shared library, found {0}; audit the linked file")]
    UnsupportedKind(String),
    /// A header or a table contradicts the format or the size of the file.
    #[error(
        "expected {what} at offset {offset:#x}, found damaged or missing data; fetch the file again"
    )]
    Malformed {
        /// What was expected.
        what: String,
        /// File offset in bytes where it was expected.
        offset: u64,
    },
}

impl ImageError {
    pub(crate) fn malformed(what: impl Into<String>, offset: u64) -> Self {
        Self::Malformed {
            what: what.into(),
            offset,
        }
    }
}
