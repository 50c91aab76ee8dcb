//! Bytes of an entry: mapped from disk, or unpacked into memory.

use std::fmt;
use std::fs::File;
use std::ops::Deref;
use std::path::Path;

/// What an entry holds.
#[derive(Debug)]
pub enum Content {
    /// The bytes of a file that begins like a binary.
    Binary(FileBytes),
    /// Left out on purpose, with the reason.
    Skipped(String),
    /// Could not be read, with the reason.
    Unreadable(String),
}

/// The bytes of a file.
///
/// A file on disk is mapped: it takes no memory of its own, and must not be cut short while it
/// is read. A member of an archive takes its unpacked size.
pub struct FileBytes(Source);

enum Source {
    Mapped(mmarinus::Map<mmarinus::perms::Read, mmarinus::Private>),
    Owned(Vec<u8>),
}

impl FileBytes {
    pub(super) fn owned(bytes: Vec<u8>) -> Self {
        Self(Source::Owned(bytes))
    }

    /// Maps a regular file.
    pub(super) fn map(path: &Path) -> Result<Self, String> {
        let describe = |error: std::io::Error| error.to_string();
        // Opening a pipe would wait for its writer.
        let metadata = path.metadata().map_err(describe)?;
        if !metadata.is_file() {
            return Err("neither a regular file nor a directory".into());
        }
        let size = usize::try_from(metadata.len()).map_err(|error| error.to_string())?;
        let mut file = File::open(path).map_err(describe)?;
        if size == 0 {
            return Ok(Self::owned(Vec::new()));
        }
        mmarinus::Map::bytes(size)
            .anywhere()
            .from(&mut file, 0)
            .with(mmarinus::perms::Read)
            .map(|map| Self(Source::Mapped(map)))
            .map_err(|error| describe(error.err))
    }
}

impl Deref for FileBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.0 {
            Source::Mapped(map) => map,
            Source::Owned(bytes) => bytes,
        }
    }
}

impl AsRef<[u8]> for FileBytes {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl fmt::Debug for FileBytes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match &self.0 {
            Source::Mapped(_) => "mapped",
            Source::Owned(_) => "owned",
        };
        write!(formatter, "FileBytes({} bytes, {kind})", self.len())
    }
}
