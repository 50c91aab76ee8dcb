//! Objects: their layouts follow from the version alone.

use super::Unsupported;
use crate::version::Version;

/// Where the fields of objects lie, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObjectLayout {
    /// `ob_type` in every object.
    pub ob_type: u64,
    pub(crate) free_threaded: bool,
    pub(crate) counting: Counting,
    pub(crate) tp_name: u64,
    pub(crate) tp_flags: u64,
    pub(crate) tp_dict: u64,
    pub(crate) bytes_size: u64,
    pub(crate) bytes_data: u64,
    pub(crate) string_length: u64,
    pub(crate) string_state: u64,
    pub(crate) string_has_ready_bit: bool,
    pub(crate) ascii_string_size: u64,
    pub(crate) compact_string_size: u64,
    pub(crate) dictionary_keys: u64,
    pub(crate) dictionary_indices: u64,
    pub(crate) dictionary_has_kinds: bool,
}

/// Where and how references are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counting {
    /// One word (up to 3.11).
    Word,
    /// One word; immortal when its low half is negative (3.12, 3.13).
    SignedHalf,
    /// The low half of a word, immortal when negative; flags above (3.14+).
    LowHalf,
    /// The owning thread's count and that of all others (free-threaded).
    Biased { local: u64, shared: u64 },
}

impl ObjectLayout {
    /// The layout of objects in `version`.
    ///
    /// # Errors
    /// When the version is not known.
    pub fn of(version: Version) -> Result<Self, Unsupported> {
        let first = if version.is_free_threaded() { 13 } else { 8 };
        if version.major() != 3 || !(first..=15).contains(&version.minor()) {
            return Err(Unsupported::Version(version));
        }
        if version.is_unsettled() {
            return Err(Unsupported::Unsettled(version));
        }
        // sizeof(PyObject): a free-threaded one also has an owner, a lock and a second count.
        let head = if version.is_free_threaded() { 32 } else { 16 };
        // `str` lost its wchar_t form, and dictionaries got kinds, on the way.
        let wide_strings = !version.at_least(12);
        let dictionary_has_kinds = version.at_least(11);
        Ok(Self {
            ob_type: head - 8,
            free_threaded: version.is_free_threaded(),
            counting: match version.minor() {
                _ if version.is_free_threaded() => Counting::Biased {
                    local: 12,
                    shared: 16,
                },
                ..=11 => Counting::Word,
                12 | 13 => Counting::SignedHalf,
                _ => Counting::LowHalf,
            },
            tp_name: head + 8,
            tp_flags: head + 152,
            tp_dict: head + 248,
            bytes_size: head,
            bytes_data: head + 16,
            string_length: head,
            string_state: head + 16,
            string_has_ready_bit: wide_strings,
            ascii_string_size: head + if wide_strings { 32 } else { 24 },
            compact_string_size: head + if wide_strings { 56 } else { 40 },
            dictionary_keys: head + 16,
            dictionary_indices: if dictionary_has_kinds { 32 } else { 40 },
            dictionary_has_kinds,
        })
    }
}
