//! Names within bounds. Tables of hostile files let millions of entries share one endless name;
//! reading each alone is cheap, reading all is not.

/// Longest name that is taken, in bytes: C++ names reach some tens of kilobytes.
const LONGEST: usize = 1 << 16;
/// What even a small file may spend, in bytes.
const LEAST: u64 = 16 << 20;

/// Reads zero-terminated names as long as they add up to no more than a few times the file.
#[derive(Clone, Debug)]
pub(crate) struct NameReader {
    budget: u64,
}

impl NameReader {
    /// For a file of so many bytes.
    pub(crate) fn new(file_size: usize) -> Self {
        Self {
            budget: (file_size as u64).saturating_mul(8).saturating_add(LEAST),
        }
    }

    /// The name at the beginning of the bytes, if it is UTF-8.
    pub(crate) fn read<'d>(&mut self, bytes: &'d [u8]) -> Option<&'d str> {
        let limit = usize::try_from(self.budget).unwrap_or(LONGEST).min(LONGEST);
        let window = bytes.get(..limit.min(bytes.len()))?;
        let length = window.iter().position(|byte| *byte == 0);
        self.spend(length.unwrap_or(window.len()) as u64 + 1);
        std::str::from_utf8(window.get(..length?)?).ok()
    }

    /// Counts work of another kind; false once there may be no more.
    pub(crate) fn spend(&mut self, bytes: u64) -> bool {
        self.budget = self.budget.saturating_sub(bytes);
        !self.is_exhausted()
    }

    /// Whether names were left out.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.budget == 0
    }
}

#[cfg(test)]
mod tests {
    use super::NameReader;

    #[test]
    fn names_end_at_zero_and_with_the_budget() {
        let mut names = NameReader::new(0);
        assert_eq!(names.read(b"name\0more"), Some("name"));
        assert_eq!(names.read(b"no end"), None);
        assert_eq!(names.read(b"\xff\0"), None);
        let endless = vec![b'a'; 1 << 20];
        let reads = std::iter::repeat_with(|| names.read(&endless)).take(1 << 10);
        assert!(reads.flatten().next().is_none());
        assert!(names.is_exhausted());
        assert_eq!(names.read(b"name\0"), None);
    }
}
