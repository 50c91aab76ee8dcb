//! Finds the places in a file's code that may jump to an imported function.
//!
//! To decode all code of a large library takes seconds. Every such jump and every load of a
//! function's address ends in the distance to a stub or to a slot, and few other bytes look like
//! one: a search for those distances is much faster, and only what it finds is decoded.

use std::collections::{BTreeSet, HashMap};

use crate::binary::Binary;
use crate::imports::Imports;

/// Code is searched up to this size in all, in bytes.
const LARGEST_CODE: u64 = 512 << 20;
/// Code is read in pieces of this size, in bytes.
const PIECE: u64 = 1 << 20;
/// The length of a distance, in bytes.
const DISTANCE: usize = 4;
/// The bytes of opcode before a distance that are looked at.
const OPCODE: usize = 2;

/// The places that concern one slot. They lie inside of instructions, not at their start.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places {
    /// The bytes are those of a jump.
    pub(crate) jumps: Vec<u64>,
    /// The bytes may be those of another instruction that refers to the slot or its stub, calls
    /// left aside.
    pub(crate) references: Vec<u64>,
}

/// The places of several slots. All addresses are the file's own.
#[derive(Debug)]
pub(crate) struct JumpScan {
    slots: BTreeSet<u64>,
    places: HashMap<u64, Places>,
}

impl JumpScan {
    /// Searches all code once for all `slots`; `None` where it cannot be read or is too large.
    pub(crate) fn run(
        binary: &Binary,
        imports: &Imports,
        slots: BTreeSet<u64>,
    ) -> Option<JumpScan> {
        let sections = binary.code_sections();
        let sections: Vec<_> = sections
            .filter(|section| !section.is_linkage_table())
            .collect();
        let mut total = 0_u64;
        for section in &sections {
            total = total.saturating_add(section.size);
        }
        if sections.is_empty() || total > LARGEST_CODE {
            return None;
        }
        let mut targets: HashMap<u64, u64> = slots.iter().map(|slot| (*slot, *slot)).collect();
        let stubs = imports.stubs().filter(|(_, slot)| slots.contains(slot));
        let stubs: Vec<(u64, u64)> = stubs.collect();
        let spans = [
            Span::of(slots.iter().copied()),
            Span::of(stubs.iter().map(|(entry, _)| *entry)),
        ];
        targets.extend(stubs);
        let mut scan = JumpScan {
            slots,
            places: HashMap::new(),
        };
        for section in sections {
            let mut start = section.address;
            while start < section.end() {
                let length = PIECE.min(section.end() - start);
                let code = binary.code(start, length)?;
                if start == section.address {
                    // The first opcode can be shorter than others.
                    let padded = [&[0; OPCODE], code.as_slice()].concat();
                    scan.search(&padded, start.wrapping_sub(OPCODE as u64), spans, &targets);
                } else {
                    scan.search(&code, start, spans, &targets);
                }
                let is_last = start + length == section.end();
                // Where a piece ends an instruction may be cut.
                let overlap = (OPCODE + DISTANCE - 1) as u64;
                start += if is_last { length } else { length - overlap };
            }
        }
        Some(scan)
    }

    /// The places of a slot; `None` where the slot was not searched for.
    pub(crate) fn places(&self, slot: u64) -> Option<Places> {
        let is_known = self.slots.contains(&slot);
        is_known.then(|| self.places.get(&slot).cloned().unwrap_or_default())
    }

    fn search(&mut self, bytes: &[u8], start: u64, spans: [Span; 2], targets: &HashMap<u64, u64>) {
        let windows = bytes.windows(OPCODE + DISTANCE).enumerate();
        for (index, window) in windows {
            let &[first, second, ref distance @ ..] = window else {
                continue;
            };
            let distance: [u8; DISTANCE] = distance.try_into().unwrap_or_default();
            let distance = i64::from(i32::from_le_bytes(distance));
            let end = start.wrapping_add((index + OPCODE + DISTANCE) as u64);
            let target = end.wrapping_add_signed(distance);
            if !spans[0].contains(target) && !spans[1].contains(target) {
                continue;
            }
            let Some(slot) = targets.get(&target) else {
                continue;
            };
            let is_stub = target != *slot;
            let places = self.places.entry(*slot).or_default();
            let place = end.wrapping_sub(DISTANCE as u64);
            match (is_stub, first, second) {
                (true, _, 0xe8) | (false, 0xff, 0x15) => {}
                (true, _, 0xe9) | (true, 0x0f, 0x80..=0x8f) | (false, 0xff, 0x25) => {
                    places.jumps.push(place);
                }
                _ => places.references.push(place),
            }
        }
    }
}

/// The least range that includes some addresses.
#[derive(Clone, Copy, Debug)]
struct Span {
    start: u64,
    length: u64,
}

impl Span {
    fn of(addresses: impl Iterator<Item = u64> + Clone) -> Span {
        let start = addresses.clone().min();
        let end = addresses.max().map_or(0, |last| last.saturating_add(1));
        Span {
            start: start.unwrap_or(0),
            length: end - start.unwrap_or(0),
        }
    }

    fn contains(self, address: u64) -> bool {
        address.wrapping_sub(self.start) < self.length
    }
}
