//! Function ranges from `.pdata`. Leaf functions are not in it.

use super::Headers;
use crate::functions::FunctionRange;
use crate::parts::Parts;
use object::pe;

const ENTRY: usize = 12;
/// The entry continues another one's function.
const CHAINED: u8 = 4;

/// The ranges; a continuation right behind its function is joined to it, one elsewhere (a cold
/// part) stays a range of its own.
pub(super) fn ranges(parts: &mut Parts<'_>, headers: &Headers<'_>) -> Vec<FunctionRange> {
    let Some((address, size)) = headers.directory(pe::IMAGE_DIRECTORY_ENTRY_EXCEPTION) else {
        return Vec::new();
    };
    let Some(bytes) = parts.layout.bytes(address, size) else {
        parts.problem("the unwind table lies outside the file");
        return Vec::new();
    };
    let mut ranges: Vec<FunctionRange> = Vec::with_capacity(bytes.len() / ENTRY);
    for entry in bytes.chunks_exact(ENTRY) {
        let [start, end, unwind] = [0, 4, 8].map(|at| {
            let mut word = [0; 4];
            word.copy_from_slice(&entry[at..at + 4]);
            u64::from(u32::from_le_bytes(word))
        });
        if start == 0 {
            continue;
        }
        // An odd address leads to another entry instead.
        let chained = unwind & 1 == 1
            || parts
                .layout
                .bytes(unwind, 1)
                .is_some_and(|head| (head[0] >> 3) & CHAINED != 0);
        match ranges.last_mut() {
            Some(last) if chained && last.end == start => last.end = end,
            _ => ranges.push(FunctionRange { start, end }),
        }
    }
    ranges
}
