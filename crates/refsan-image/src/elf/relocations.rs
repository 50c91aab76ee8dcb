//! What the dynamic linker writes into the image, and the words for thread-local variables.

use super::dynamic::{Dynamic, Table};
use super::symbols::DynamicSymbols;
use super::{ENDIAN, ElfSymbol};
use crate::links::{Link, LinkedWord};
use crate::parts::{Architecture, CompactThreadLocal, CompactVariable, Parts};
use crate::thread_local::ThreadLocalModel;
use object::LittleEndian;
use object::elf::{self, Rela64, Relr64};
use object::read::elf::{RelrIterator, Sym};
use std::collections::HashMap;

/// What a relocation does, the same for both processors.
enum Action {
    Relative,
    Symbol,
    Slot,
    ThreadModule,
    ThreadOffset,
    ThreadDescriptor,
    ThreadPointer,
    Other,
}

fn action(architecture: Architecture, kind: elf::RelocationType) -> Action {
    match architecture {
        Architecture::X86_64 => match kind {
            elf::R_X86_64_RELATIVE => Action::Relative,
            elf::R_X86_64_64 => Action::Symbol,
            elf::R_X86_64_GLOB_DAT | elf::R_X86_64_JUMP_SLOT => Action::Slot,
            elf::R_X86_64_DTPMOD64 => Action::ThreadModule,
            elf::R_X86_64_DTPOFF64 => Action::ThreadOffset,
            elf::R_X86_64_TLSDESC => Action::ThreadDescriptor,
            elf::R_X86_64_TPOFF64 => Action::ThreadPointer,
            _ => Action::Other,
        },
        Architecture::Aarch64 => match kind {
            elf::R_AARCH64_RELATIVE => Action::Relative,
            elf::R_AARCH64_ABS64 => Action::Symbol,
            elf::R_AARCH64_GLOB_DAT | elf::R_AARCH64_JUMP_SLOT => Action::Slot,
            elf::R_AARCH64_TLS_DTPMOD => Action::ThreadModule,
            elf::R_AARCH64_TLS_DTPREL => Action::ThreadOffset,
            elf::R_AARCH64_TLSDESC => Action::ThreadDescriptor,
            elf::R_AARCH64_TLS_TPREL => Action::ThreadPointer,
            _ => Action::Other,
        },
    }
}

/// Reads the three relocation tables.
pub(super) fn read<'d>(
    parts: &mut Parts<'d>,
    dynamic: &Dynamic<'d>,
    symbols: &DynamicSymbols<'d>,
) -> Vec<LinkedWord> {
    let relative = table::<Relr64<LittleEndian>>(parts, dynamic.relative_relocations);
    let relocations = table::<Rela64<LittleEndian>>(parts, dynamic.relocations);
    let linkage = table::<Rela64<LittleEndian>>(parts, dynamic.linkage_relocations);
    let mut words = Vec::with_capacity(relocations.len() + linkage.len());
    // A bitmap of relative relocations names each place at most once.
    let most = parts.data.len() / 8;
    let places = RelrIterator::<elf::FileHeader64<LittleEndian>>::new(ENDIAN, relative);
    for address in places.take(most) {
        // The addend is what the place holds.
        if let Some(value) = parts.layout.u64_at(address) {
            words.push(LinkedWord {
                address,
                link: Link::Local(value),
            });
        }
    }
    let mut reader = Reader {
        parts,
        symbols,
        words,
        thread_offsets: HashMap::new(),
        thread_modules: Vec::new(),
    };
    for relocation in relocations.iter().chain(linkage) {
        reader.apply(relocation);
    }
    reader.finish()
}

fn table<'d, T: object::pod::Pod>(parts: &mut Parts<'d>, table: Table) -> &'d [T] {
    if table.size == 0 {
        return &[];
    }
    let entry = size_of::<T>() as u64;
    let read = parts
        .layout
        .bytes(table.address, table.size / entry * entry)
        .and_then(|bytes| object::pod::slice_from_all_bytes(bytes).ok());
    read.unwrap_or_else(|| {
        parts.problem("a relocation table lies outside the file");
        &[]
    })
}

struct Reader<'p, 'd> {
    parts: &'p mut Parts<'d>,
    symbols: &'p DynamicSymbols<'d>,
    words: Vec<LinkedWord>,
    /// Second words of pairs that name a variable.
    thread_offsets: HashMap<u64, CompactVariable>,
    /// First words of pairs, with the variable if it is another file's.
    thread_modules: Vec<(u64, Option<u32>)>,
}

impl<'d> Reader<'_, 'd> {
    fn symbol(&self, index: u32) -> Option<(&'d ElfSymbol, u32)> {
        let index = index as usize;
        Some((
            self.symbols.symbols.get(index)?,
            *self.symbols.imports.get(index)?,
        ))
    }

    fn apply(&mut self, relocation: &Rela64<LittleEndian>) {
        let address = relocation.r_offset.get(ENDIAN);
        let addend = relocation.r_addend.get(ENDIAN);
        let index = relocation.r_sym(ENDIAN, false);
        let action = action(self.parts.architecture, relocation.r_type(ENDIAN, false));
        match action {
            Action::Relative => self.words.push(LinkedWord {
                address,
                link: Link::Local(addend.cast_unsigned()),
            }),
            Action::Symbol | Action::Slot => {
                if matches!(action, Action::Slot) {
                    // Also where no section header tells that this is the GOT.
                    self.parts.constant.push(address..address.saturating_add(8));
                }
                let Some((symbol, import)) = self.symbol(index) else {
                    self.parts.problem("a relocation names a missing symbol");
                    return;
                };
                let link = if import == u32::MAX {
                    Link::Local(symbol.st_value(ENDIAN).wrapping_add_signed(addend))
                } else {
                    Link::Import(import)
                };
                self.words.push(LinkedWord { address, link });
            }
            Action::ThreadModule => {
                let import = self.variable(index, 0).and_then(|variable| match variable {
                    CompactVariable::Import(import) => Some(import),
                    CompactVariable::Own(_) => None,
                });
                self.thread_modules.push((address, import));
            }
            Action::ThreadOffset => {
                if let Some(variable) = self.variable(index, addend) {
                    self.thread_offsets.insert(address, variable);
                }
            }
            Action::ThreadDescriptor | Action::ThreadPointer => {
                if let Some(variable) = self.variable(index, addend) {
                    self.parts.thread_locals.push(CompactThreadLocal {
                        address,
                        model: match action {
                            Action::ThreadDescriptor => ThreadLocalModel::Descriptor,
                            _ => ThreadLocalModel::ThreadPointerOffset,
                        },
                        variable,
                    });
                }
            }
            Action::Other => {}
        }
    }

    /// The variable of a thread-local relocation; symbol 0 is the module's own block.
    fn variable(&self, index: u32, addend: i64) -> Option<CompactVariable> {
        if index == 0 {
            return Some(CompactVariable::Own(addend.cast_unsigned()));
        }
        let (symbol, import) = self.symbol(index)?;
        Some(if import == u32::MAX {
            CompactVariable::Own(symbol.st_value(ENDIAN).wrapping_add_signed(addend))
        } else {
            CompactVariable::Import(import)
        })
    }

    fn finish(self) -> Vec<LinkedWord> {
        for (address, import) in self.thread_modules {
            let second = address.wrapping_add(8);
            let variable = match (self.thread_offsets.get(&second), import) {
                (Some(variable), _) => *variable,
                (None, Some(import)) => CompactVariable::Import(import),
                // The linker knew the displacement and stored it: zero for the whole block.
                (None, None) => CompactVariable::Own(self.parts.layout.u64_at(second).unwrap_or(0)),
            };
            self.parts.thread_locals.push(CompactThreadLocal {
                address,
                model: ThreadLocalModel::ModulePair,
                variable,
            });
        }
        self.words
    }
}
