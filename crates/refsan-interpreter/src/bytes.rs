//! Python `bytes` objects, read a piece at a time.

use crate::layout::ObjectLayout;
use crate::memory::{Memory, Window, fill};
use crate::object::{Flag, has_flag};

/// Longer line tables belong to no code that a person wrote; they bound the time in a hook.
const LONGEST: u64 = 1 << 18;
/// Bytes read at a time.
const CHUNK: usize = 256;

/// The content of a `bytes` object, one byte after the other. Ends early where memory ends.
pub(crate) struct Bytes<'m, M: ?Sized> {
    memory: &'m M,
    address: u64,
    remaining: u64,
    chunk: [u8; CHUNK],
    position: usize,
    filled: usize,
}

impl<'m, M: Memory + ?Sized> Bytes<'m, M> {
    /// None when no `bytes` object can be at `address`.
    pub(crate) fn of(memory: &'m M, objects: &ObjectLayout, address: u64) -> Option<Self> {
        let header = Window::<64>::read(memory, address, objects.bytes_size.checked_add(8)?)?;
        let kind = header.u64(objects.ob_type)?;
        if !has_flag(memory, objects, kind, Flag::BytesSubclass)? {
            return None;
        }
        Some(Self {
            memory,
            address: address.checked_add(objects.bytes_data)?,
            remaining: header
                .u64(objects.bytes_size)
                .filter(|size| *size <= LONGEST)?,
            chunk: [0; CHUNK],
            position: 0,
            filled: 0,
        })
    }
}

impl<M: Memory + ?Sized> Iterator for Bytes<'_, M> {
    type Item = u8;

    fn next(&mut self) -> Option<u8> {
        if self.position >= self.filled {
            let length = self.remaining.min(CHUNK as u64);
            let filled = usize::try_from(length).ok().filter(|filled| *filled > 0)?;
            if !fill(self.memory, self.address, self.chunk.get_mut(..filled)?) {
                self.remaining = 0;
                return None;
            }
            self.address = self.address.wrapping_add(length);
            self.remaining = self.remaining.wrapping_sub(length);
            self.position = 0;
            self.filled = filled;
        }
        let byte = self.chunk.get(self.position).copied();
        self.position = self.position.wrapping_add(1);
        byte
    }
}
