//! The export trie, for files whose symbol table lost its exports.

use super::imports::c_name;
use super::{Commands, ENDIAN};
use crate::parts::{Export, Parts};
use object::read::Bytes;
use std::borrow::Cow;
use std::collections::HashSet;

/// Longest symbol name that is taken.
const NAME_LIMIT: usize = 1 << 16;

/// Adds the trie's exports if the symbol table named none.
pub(super) fn read(parts: &mut Parts<'_>, commands: &Commands<'_>) {
    if !parts.exports.is_empty() {
        return;
    }
    let data = match (commands.exports, commands.dyld_info) {
        (Some(trie), _) => trie.data(ENDIAN, parts.data),
        (None, Some(info)) => info.export_data(ENDIAN, parts.data),
        (None, None) => return,
    };
    let complete = data.is_ok_and(|data| walk(data, commands.base, parts));
    if !complete {
        parts.problem("the export trie is damaged");
    }
}

/// Visits every node once, however the offsets are tangled. False if a node is damaged.
fn walk(data: &[u8], base: u64, parts: &mut Parts<'_>) -> bool {
    let mut seen = HashSet::new();
    let mut pending = vec![(0u64, Vec::new())];
    // A trie stores shared prefixes once; names that add up to far more than that are hostile.
    let mut budget = data.len().saturating_mul(8).saturating_add(1 << 20);
    while let Some((offset, name)) = pending.pop() {
        if !seen.insert(offset) {
            return false;
        }
        let Some(children) = node(data, offset, &name, base, parts) else {
            return false;
        };
        for (edge, child) in children {
            let length = name.len() + edge.len();
            if length > NAME_LIMIT || length > budget {
                return false;
            }
            budget -= length;
            pending.push((child, [&name, edge].concat()));
        }
    }
    true
}

/// Reads one node and gives its edges.
fn node<'d>(
    data: &'d [u8],
    offset: u64,
    name: &[u8],
    base: u64,
    parts: &mut Parts<'_>,
) -> Option<Vec<(&'d [u8], u64)>> {
    let mut bytes = Bytes(data.get(usize::try_from(offset).ok()?..)?);
    let size = bytes.read_uleb128().ok()?;
    let mut terminal = bytes.read_bytes(usize::try_from(size).ok()?).ok()?;
    if size != 0 {
        let flags = terminal.read_uleb128().ok()?;
        // Neither an absolute symbol nor one of another library: an offset from the base.
        let is_address = flags & 0x03 == 0 && flags & 0x08 == 0;
        let value = terminal.read_uleb128().ok()?;
        if let (true, Ok(name)) = (is_address, std::str::from_utf8(name)) {
            parts.exports.push(Export {
                name: Cow::Owned(c_name(name).to_owned()),
                address: base.wrapping_add(value),
            });
        }
    }
    let count = *bytes.read::<u8>().ok()?;
    (0..count)
        .map(|_| Some((bytes.read_string().ok()?, bytes.read_uleb128().ok()?)))
        .collect()
}
