//! Python `str` objects in their compact forms.

use crate::layout::ObjectLayout;
use crate::memory::{Memory, Window, fill};
use crate::object::{Flag, has_flag};
use crate::text::Text;

/// Longer strings are not names, but memory that was reused.
const LONGEST: u64 = 1 << 20;
/// Bytes read at a time: a multiple of every character width.
const CHUNK: usize = 64;
/// Stands for what was cut off.
const ELLIPSIS: char = '…';

/// Where the characters of a string lie.
pub(crate) struct Characters {
    address: u64,
    length: u64,
    width: u64,
    ascii: bool,
}

impl Characters {
    /// The characters of the `str` at `address`; None when none can be there, or it is not compact
    /// (a subclass, or a string made by an API that 3.12 removed).
    pub(crate) fn of<M: Memory + ?Sized>(
        memory: &M,
        objects: &ObjectLayout,
        address: u64,
    ) -> Option<Self> {
        let header = Window::<64>::read(memory, address, objects.string_state.checked_add(4)?)?;
        if !has_flag(
            memory,
            objects,
            header.u64(objects.ob_type)?,
            Flag::StringSubclass,
        )? {
            return None;
        }
        let state = header.u32(objects.string_state)?;
        // Free-threaded builds moved the bits up when `interned` became a byte of its own, whose
        // values stay below 4.
        let shift = if objects.free_threaded && state & 0xFC == 0 {
            8
        } else {
            2
        };
        let bits = state.wrapping_shr(shift);
        let (width, compact, ascii) = (bits & 7, bits & 8 != 0, bits & 16 != 0);
        let ready = !objects.string_has_ready_bit || bits & 32 != 0;
        if !compact || !ready || !matches!(width, 1 | 2 | 4) || (ascii && width != 1) {
            return None;
        }
        let header_size = if ascii {
            objects.ascii_string_size
        } else {
            objects.compact_string_size
        };
        Some(Self {
            address: address.checked_add(header_size)?,
            length: header
                .u64(objects.string_length)
                .filter(|length| *length <= LONGEST)?,
            width: u64::from(width),
            ascii,
        })
    }

    /// True when these are exactly the ASCII characters of `expected` (at most 64).
    pub(crate) fn equals<M: Memory + ?Sized>(&self, memory: &M, expected: &[u8]) -> bool {
        let mut buffer = [0; CHUNK];
        let Some(found) = buffer.get_mut(..expected.len()) else {
            return false;
        };
        self.ascii
            && usize::try_from(self.length) == Ok(expected.len())
            && fill(memory, self.address, found)
            && found == expected
    }

    /// Writes the characters to `text`; of those that do not fit surely, the front is cut off.
    /// None when they cannot be read; then `text` may hold a part of them.
    pub(crate) fn write<M: Memory + ?Sized, const N: usize>(
        &self,
        memory: &M,
        text: &mut Text<N>,
    ) -> Option<()> {
        // UTF-8 needs up to two bytes for a latin-1 character, three below U+10000, else four.
        let widest = if self.ascii {
            1
        } else {
            self.width.min(3).checked_add(1)?.min(4)
        };
        let room = (N as u64).checked_div(widest)?;
        let mut skipped = 0;
        if self.length > room {
            let marked = (N as u64).checked_sub(ELLIPSIS.len_utf8() as u64)?;
            skipped = self.length.checked_sub(marked.checked_div(widest)?)?;
            text.push(ELLIPSIS);
        }
        let end = self
            .address
            .checked_add(self.length.checked_mul(self.width)?)?;
        let mut address = self.address.checked_add(skipped.checked_mul(self.width)?)?;
        // Never 0, which the compiler cannot know.
        let width = usize::try_from(self.width).ok()?.max(1);
        while address < end {
            let mut buffer = [0; CHUNK];
            let length = end.wrapping_sub(address).min(CHUNK as u64);
            let chunk = buffer.get_mut(..usize::try_from(length).ok()?)?;
            if !fill(memory, address, chunk) {
                return None;
            }
            for unit in chunk.chunks_exact(width) {
                let point = match *unit {
                    [a] => u32::from(a),
                    [a, b] => u32::from(u16::from_ne_bytes([a, b])),
                    [a, b, c, d] => u32::from_ne_bytes([a, b, c, d]),
                    _ => return None,
                };
                // Lone surrogates stand for undecodable bytes of a file name.
                let character = char::from_u32(point).unwrap_or(char::REPLACEMENT_CHARACTER);
                text.push(character);
            }
            address = address.checked_add(length)?;
        }
        Some(())
    }
}
