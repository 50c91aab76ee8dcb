//! Members of wheels and other zip files.

use super::content::FileBytes;
use super::limits::{Budget, Limits};
use super::{Content, Entry, Step, read_member};
use std::fmt;
use std::io::Cursor;
use zip::ZipArchive;

/// An open zip file.
pub(super) struct Wheel {
    name: String,
    archive: ZipArchive<Cursor<FileBytes>>,
    next: usize,
}

/// Smallest record of a member in the central directory, in bytes.
const SMALLEST_RECORD: u64 = 46;

impl Wheel {
    pub(super) fn new(name: String, bytes: FileBytes, limits: &Limits) -> Result<Self, String> {
        // The directory is read as a whole: without this bound a huge one would fill the memory.
        let most = limits.entries.saturating_mul(SMALLEST_RECORD).max(1 << 20);
        if directory_size(&bytes).is_some_and(|size| size > most) {
            return Err("more members than allowed".into());
        }
        let archive = ZipArchive::new(Cursor::new(bytes))
            .map_err(|error| format!("not a sound zip file: {error}"))?;
        if archive.len() as u64 > limits.entries {
            return Err("more members than allowed".into());
        }
        Ok(Self {
            name,
            archive,
            next: 0,
        })
    }

    /// Reads the next member.
    pub(super) fn step(&mut self, limits: &Limits, budget: &mut Budget) -> Step {
        let index = self.next;
        if index >= self.archive.len() {
            return Step::End(None);
        }
        self.next += 1;
        let listed = self.archive.name_for_index(index).unwrap_or("?").to_owned();
        let name = format!("{}!{listed}", self.name);
        let unreadable = |reason: String| {
            Step::Entry(Entry {
                name: name.clone(),
                content: Content::Unreadable(reason),
            })
        };
        let mut member = match self.archive.by_index(index) {
            Ok(member) => member,
            Err(error) if super::magic::is_named_like_binary(&listed) => {
                return unreadable(error.to_string());
            }
            Err(_) => return Step::Nothing,
        };
        if !member.is_file() {
            return Step::Nothing;
        }
        let (unpacked, packed) = (member.size(), member.compressed_size());
        if !limits.allows_ratio(unpacked, packed) {
            return unreadable(format!(
                "{unpacked} bytes packed into {packed} look like a decompression bomb"
            ));
        }
        // The reader gives no more than the header says, whatever the stream holds.
        match read_member(name, &listed, unpacked, &mut member, limits, budget) {
            Some(entry) => Step::Entry(entry),
            None => Step::Nothing,
        }
    }
}

/// The size of the central directory as the last end record gives it, with 32 bits.
fn directory_size(bytes: &[u8]) -> Option<u64> {
    const END_RECORD: usize = 22;
    let from = bytes
        .len()
        .saturating_sub(END_RECORD + usize::from(u16::MAX));
    let tail = bytes.get(from..)?;
    let at = tail
        .windows(4)
        .rposition(|window| window == [b'P', b'K', 5, 6])?;
    let field = tail.get(at + 12..at + 16)?;
    let size = u32::from_le_bytes(field.try_into().ok()?);
    // A 64-bit record stands for the largest value; its directory is as large as the file at most.
    (size != u32::MAX).then_some(size.into())
}

impl fmt::Debug for Wheel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Wheel({}, {})", self.name, self.next)
    }
}
