//! Cache keys: equal inputs share a cache entry, and any changed input makes a new one.

use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::path::Path;
use std::{fs, io};

/// A hash over labelled parts.
pub struct Key(Sha256);

impl Key {
    /// A key for one kind of entry; raise `layout` when the way entries are made changes.
    pub fn new(kind: &str, layout: u32) -> Self {
        Self(Sha256::new()).text(kind).text(&layout.to_string())
    }

    /// Adds a text.
    #[must_use]
    pub fn text(self, text: &str) -> Self {
        self.bytes(text.as_bytes())
    }

    /// Adds a file's name and content.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn file(self, path: &Path) -> io::Result<Self> {
        let content = fs::read(path)?;
        Ok(self
            .text(&path.file_name().unwrap_or_default().to_string_lossy())
            .bytes(&content))
    }

    // The length goes first, so that neighbouring parts cannot run into each other.
    fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
        self
    }

    /// The key as 16 hexadecimal digits, fit for a file name.
    pub fn finish(self) -> String {
        let mut name = String::with_capacity(16);
        for byte in &self.0.finalize()[..8] {
            let _ = write!(name, "{byte:02x}");
        }
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_parts_give_equal_keys_and_moved_borders_do_not() {
        let key = |parts: &[&str]| {
            parts
                .iter()
                .fold(Key::new("test", 1), |key, part| key.text(part))
                .finish()
        };
        assert_eq!(key(&["ab", "c"]), key(&["ab", "c"]));
        assert_ne!(key(&["ab", "c"]), key(&["a", "bc"]));
        assert_ne!(key(&["ab", "c"]), key(&["ab", "c", ""]));
        assert_ne!(Key::new("test", 1).finish(), Key::new("test", 2).finish());
        assert_eq!(key(&[]).len(), 16);
    }

    #[test]
    fn a_changed_file_changes_the_key() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.c");
        fs::write(&path, "one").unwrap();
        let before = Key::new("test", 1).file(&path).unwrap().finish();
        fs::write(&path, "two").unwrap();
        assert_ne!(before, Key::new("test", 1).file(&path).unwrap().finish());
        assert!(
            Key::new("test", 1)
                .file(&directory.path().join("absent.c"))
                .is_err()
        );
    }
}
