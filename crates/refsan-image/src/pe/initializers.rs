//! The C runtime's tables of initializers and terminators.
//!
//! The runtime walks from a zero word to a zero word that the linker put around the pointers.
//! Nothing else in the file leads to them but code. Linkers place the tables in read-only data,
//! soon behind the slots of the imports; what is found is therefore likely, not certain, and
//! may hold a few functions that the runtime checks calls with.

use crate::links::Link;
use crate::parts::Parts;

/// How far behind the import slots the tables may lie, in words.
const REACH: u64 = 1 << 13;

pub(super) fn read(parts: &mut Parts<'_>) {
    let last_slot = parts
        .links
        .words()
        .iter()
        .filter(|word| matches!(word.link, Link::Import(_)))
        .map(|word| word.address)
        .filter(|address| {
            let section = parts.section_covering(*address);
            section.is_some_and(|section| !section.writable)
        })
        .max();
    let Some(last_slot) = last_slot else {
        return;
    };
    let mut found = Vec::new();
    // A run of pointers to code counts once a zero word ends it, if a zero word began it.
    let mut run: Option<Vec<u64>> = None;
    for index in 1..REACH {
        let Some(address) = last_slot.checked_add(index * 8) else {
            break;
        };
        match parts.links.at(address) {
            Some(Link::Local(target)) if parts.layout.is_executable(target) => {
                if let Some(run) = &mut run {
                    run.push(target);
                }
            }
            Some(_) => break,
            None if parts.layout.u64_at(address) == Some(0) => {
                found.append(run.get_or_insert_default());
                run = Some(Vec::new());
            }
            None => break,
        }
    }
    parts.initializers = found;
}
