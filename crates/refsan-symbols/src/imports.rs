//! Which slots of the GOT are filled by the loader, and which stubs jump through them.

use std::collections::HashMap;

use iced_x86::{Decoder, DecoderOptions, FlowControl, Mnemonic};
use object::LittleEndian;
use object::elf::{self, Rela64, Sym64};

use crate::binary::{Binary, Section};
use crate::function_ranges::FunctionRange;

/// A linkage table is looked at up to this size, in bytes: about a million functions.
const LARGEST_TABLE: u64 = 16 << 20;

/// What the loader puts into a slot.
#[derive(Clone, Copy, Debug)]
struct Import {
    /// Offset of the name in the string table.
    name: u32,
    /// The file's own function of that name, which the slot holds unless another module comes first.
    own: Option<u64>,
}

/// The imports of a file. All addresses are the file's own.
#[derive(Debug, Default)]
pub(crate) struct Imports {
    strings: Option<Section>,
    /// By slot.
    imports: HashMap<u64, Import>,
    /// From each address where a stub can be entered to its slot.
    stubs: HashMap<u64, u64>,
    /// Where the stubs lie.
    tables: Vec<FunctionRange>,
}

impl Imports {
    /// Reads the relocations and the stubs; what cannot be read is left out.
    pub(crate) fn read(binary: &Binary) -> Imports {
        let mut imports = Imports::default();
        imports.read_relocations(binary);
        for section in binary.code_sections() {
            if section.is_linkage_table() && section.size <= LARGEST_TABLE {
                imports.read_stubs(binary, section);
            }
        }
        imports
    }

    /// The slot that the stub at `entry` jumps through.
    pub(crate) fn stub(&self, entry: u64) -> Option<u64> {
        self.stubs.get(&entry).copied()
    }

    /// The stubs of a slot, each by all addresses where it can be entered.
    pub(crate) fn stubs(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.stubs.iter().map(|(entry, slot)| (*entry, *slot))
    }

    /// Whether the address lies among the stubs.
    pub(crate) fn is_linkage_table(&self, address: u64) -> bool {
        self.tables.iter().any(|table| table.contains(address))
    }

    /// The file's own function that a slot holds.
    pub(crate) fn own_function(&self, slot: u64) -> Option<u64> {
        self.imports.get(&slot)?.own
    }

    /// Whether two slots hold the same function: one can be for calls and one for the address.
    pub(crate) fn are_alike(&self, slot: u64, other: u64) -> bool {
        let name = |slot| Some(self.imports.get(&slot)?.name);
        slot == other || name(slot).is_some_and(|found| name(other) == Some(found))
    }

    /// The name of the function that a slot holds.
    pub(crate) fn name(&self, binary: &Binary, slot: u64) -> Option<Vec<u8>> {
        let import = self.imports.get(&slot)?;
        binary.text(self.strings.as_ref()?, import.name.into())
    }

    fn read_relocations(&mut self, binary: &Binary) -> Option<()> {
        let section = binary.section_of_kind(elf::SHT_DYNSYM)?;
        self.strings = binary.section_at(section.link).cloned();
        let bytes = binary.contents(section)?;
        let symbols = entries::<Sym64<LittleEndian>>(&bytes)?;
        let endian = LittleEndian;
        for section in binary.sections_of_kind(elf::SHT_RELA) {
            // Those of an object file are left in some libraries; they are not loaded.
            if section.address == 0 {
                continue;
            }
            let bytes = binary.contents(section)?;
            for relocation in entries::<Rela64<LittleEndian>>(&bytes)? {
                let kind = relocation.r_type(endian, false);
                if kind != elf::R_X86_64_JUMP_SLOT && kind != elf::R_X86_64_GLOB_DAT {
                    continue;
                }
                let symbol = symbols.get(relocation.r_sym(endian, false) as usize);
                let Some(symbol) = symbol else { continue };
                let is_own = symbol.st_shndx.get(endian) != elf::SHN_UNDEF
                    && symbol.st_type() == elf::STT_FUNC;
                let import = Import {
                    name: symbol.st_name.get(endian),
                    own: is_own.then(|| symbol.st_value.get(endian)),
                };
                self.imports.insert(relocation.r_offset.get(endian), import);
            }
        }
        Some(())
    }

    fn read_stubs(&mut self, binary: &Binary, section: &Section) -> Option<()> {
        let bytes = binary.contents(section)?;
        self.tables.push(FunctionRange {
            start: section.address,
            end: section.end(),
        });
        let decoder = Decoder::with_ip(64, &bytes, section.address, DecoderOptions::NONE);
        // The instructions since the last one that no stub goes on behind: linkers put a landing
        // pad or a number before the jump.
        let mut run = Vec::new();
        for instruction in decoder {
            if instruction.is_jmp_near_indirect() && instruction.is_ip_rel_memory_operand() {
                run.push(instruction.ip());
                let slot = instruction.ip_rel_memory_address();
                self.stubs.extend(run.drain(..).map(|entry| (entry, slot)));
            } else if instruction.flow_control() != FlowControl::Next
                || matches!(instruction.mnemonic(), Mnemonic::Nop | Mnemonic::Int3)
            {
                run.clear();
            } else {
                run.push(instruction.ip());
            }
        }
        Some(())
    }
}

/// The whole entries at the start of a table.
fn entries<T: object::Pod>(bytes: &[u8]) -> Option<&[T]> {
    let count = bytes.len() / size_of::<T>();
    let (entries, _) = object::pod::slice_from_bytes(bytes, count).ok()?;
    Some(entries)
}
