//! The first entries of a dictionary with combined tables, such as a class's.

use crate::layout::ObjectLayout;
use crate::memory::{Memory, Window};
use crate::string::Characters;

/// Entries looked at: `__module__` is the first that a class body sets.
const LOOKED_AT: u64 = 8;

/// Offsets in the keys of a dictionary.
const INDEX_BYTES_LOG2: u64 = 9;
const KIND: u64 = 10;
const SIZE: u64 = 8;

/// The value for `key`, if it is among the first entries.
pub(crate) fn value<M: Memory + ?Sized>(
    memory: &M,
    objects: &ObjectLayout,
    dictionary: u64,
    key: &[u8],
) -> Option<u64> {
    let keys = Window::<64>::read(memory, dictionary, objects.dictionary_keys.checked_add(8)?)?
        .u64(objects.dictionary_keys)?;
    let window = Window::<40>::read(memory, keys, objects.dictionary_indices)?;
    // Up to 3.10 the size is a word and every entry starts with its hash; since 3.11 there are
    // logarithms, and entries of tables whose keys are all strings have no hash.
    let (index_bytes, hash) = if objects.dictionary_has_kinds {
        let index_bytes = 1_u64.checked_shl(u32::from(window.u8(INDEX_BYTES_LOG2)?))?;
        (index_bytes, if window.u8(KIND)? == 0 { 8 } else { 0 })
    } else {
        let size = window.u64(SIZE)?;
        let width = match size {
            0..=0xFF => 1,
            0x100..=0xFFFF => 2,
            0x1_0000..=0xFFFF_FFFF => 4,
            _ => return None,
        };
        (size.checked_mul(width)?, 8)
    };
    let used = window.u64(objects.dictionary_indices.checked_sub(8)?)?;
    let mut entry = keys
        .checked_add(objects.dictionary_indices)?
        .checked_add(index_bytes)?;
    for _ in 0..used.min(LOOKED_AT) {
        let fields = Window::<24>::read(memory, entry, 24.min(16_u64.checked_add(hash)?))?;
        let found = Characters::of(memory, objects, fields.u64(hash)?)
            .is_some_and(|characters| characters.equals(memory, key));
        if found {
            return fields.u64(hash.checked_add(8)?);
        }
        entry = entry.checked_add(16)?.checked_add(hash)?;
    }
    None
}
