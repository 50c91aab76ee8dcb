//! The import and delay-import tables: which slot holds which function.

use super::Headers;
use crate::links::{Import, Link, LinkedWord};
use crate::parts::Parts;
use object::pe;
use std::borrow::Cow;

const IMPORT_DESCRIPTOR: u64 = 20;
const DELAY_DESCRIPTOR: u64 = 32;
/// A thunk with this bit imports by number.
const BY_ORDINAL: u64 = 1 << 63;

/// Adds the imports, and the slots that the loader fills with them.
pub(super) fn read<'d>(parts: &mut Parts<'d>, headers: &Headers<'d>, words: &mut Vec<LinkedWord>) {
    let mut reader = Reader {
        // Tables may overlap; no sound ones have more entries than the file has words.
        budget: parts.data.len() / 8 + 1,
        parts,
        words,
    };
    let imports = headers.directory(pe::IMAGE_DIRECTORY_ENTRY_IMPORT);
    let delayed = headers.directory(pe::IMAGE_DIRECTORY_ENTRY_DELAY_IMPORT);
    let complete = imports.is_none_or(|(address, _)| reader.imports(address).is_some())
        & delayed.is_none_or(|(address, _)| reader.delayed(address).is_some());
    if !complete {
        parts.problem("an import table is damaged");
    }
}

struct Reader<'p, 'd> {
    budget: usize,
    parts: &'p mut Parts<'d>,
    words: &'p mut Vec<LinkedWord>,
}

impl<'d> Reader<'_, 'd> {
    fn word(&self, address: u64) -> Option<u64> {
        self.parts.layout.u32_at(address).map(u64::from)
    }

    fn spend(&mut self) -> Option<()> {
        self.budget = self.budget.checked_sub(1)?;
        Some(())
    }

    /// Name table, date, forwarders, library name, address table; a zero name ends the list.
    fn imports(&mut self, mut descriptor: u64) -> Option<()> {
        loop {
            self.spend()?;
            let names = self.word(descriptor)?;
            let library = self.word(descriptor + 12)?;
            let slots = self.word(descriptor + 16)?;
            if library == 0 {
                return Some(());
            }
            // Some linkers give the address table alone.
            self.thunks(library, if names == 0 { slots } else { names }, slots)?;
            descriptor = descriptor.checked_add(IMPORT_DESCRIPTOR)?;
        }
    }

    /// Attributes, library name, handle, address table, name table and more.
    fn delayed(&mut self, mut descriptor: u64) -> Option<()> {
        loop {
            self.spend()?;
            let attributes = self.word(descriptor)?;
            let library = self.word(descriptor + 4)?;
            let slots = self.word(descriptor + 12)?;
            let names = self.word(descriptor + 16)?;
            if library == 0 {
                return Some(());
            }
            // Before 64-bit Windows these were absolute addresses.
            if attributes & 1 == 1 {
                self.thunks(library, names, slots)?;
            }
            descriptor = descriptor.checked_add(DELAY_DESCRIPTOR)?;
        }
    }

    fn thunks(&mut self, library: u64, names: u64, slots: u64) -> Option<()> {
        let library = self.parts.name_at(library);
        if let Some(library) = library {
            self.parts.libraries.push(library);
        }
        for offset in (0u64..).step_by(8) {
            self.spend()?;
            let thunk = self.parts.layout.u64_at(names.checked_add(offset)?)?;
            if thunk == 0 {
                break;
            }
            let name = if thunk & BY_ORDINAL == 0 {
                // Two bytes of hint before the name.
                let name = (thunk & 0x7fff_ffff) + 2;
                Cow::Borrowed(self.parts.name_at(name)?)
            } else {
                Cow::Owned(format!("#{}", thunk & 0xffff))
            };
            let index = u32::try_from(self.parts.imports.len()).ok()?;
            let address = slots.checked_add(offset)?;
            self.parts.imports.push(Import {
                name,
                library,
                weak: false,
            });
            self.parts.constant.push(address..address.saturating_add(8));
            self.words.push(LinkedWord {
                address,
                link: Link::Import(index),
            });
        }
        Some(())
    }
}
