//! How much an input may cost.

/// Bounds on what is unpacked and listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most bytes of one unpacked member.
    pub entry_bytes: u64,
    /// Most bytes unpacked from one archive with all that is inside it.
    pub total_bytes: u64,
    /// Most files of a directory tree, and most members of an archive.
    pub entries: u64,
    /// Most unpacked bytes for each compressed one, over what is read of an archive. Counts
    /// from 64 MiB on: small files may be all zeros.
    pub ratio: u64,
}

impl Default for Limits {
    /// 2 GiB each, 8 GiB in all, a million files, 200 bytes for one.
    fn default() -> Self {
        Self {
            entry_bytes: 2 << 30,
            total_bytes: 8 << 30,
            entries: 1_000_000,
            ratio: 200,
        }
    }
}

/// Unpacked bytes below which the ratio does not count.
const RATIO_FROM: u64 = 64 << 20;

impl Limits {
    /// Whether so many bytes may come from so few.
    pub(super) fn allows_ratio(&self, unpacked: u64, packed: u64) -> bool {
        unpacked <= RATIO_FROM || unpacked / packed.max(1) <= self.ratio
    }
}

/// What is left of the limits.
#[derive(Debug)]
pub(super) struct Budget {
    bytes: u64,
    files: u64,
}

impl Budget {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            bytes: limits.total_bytes,
            files: limits.entries,
        }
    }

    /// For the next file of the directory tree.
    pub(super) fn refill(&mut self, limits: &Limits) {
        self.bytes = limits.total_bytes;
    }

    pub(super) fn bytes_left(&self) -> u64 {
        self.bytes
    }

    pub(super) fn spend_bytes(&mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_sub(bytes);
    }

    /// Counts a file; false if there may be no more.
    pub(super) fn spend_file(&mut self) -> bool {
        match self.files.checked_sub(1) {
            Some(left) => {
                self.files = left;
                true
            }
            None => false,
        }
    }
}
