//! The dynamic table, through the program header: it is there when section headers are not.

use crate::names::NameReader;
use crate::parts::Parts;
use crate::target::Target;
use object::elf;

/// A table in memory.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Table {
    pub(super) address: u64,
    pub(super) size: u64,
}

/// What the dynamic linker is told.
#[derive(Debug, Default)]
pub(super) struct Dynamic<'d> {
    pub(super) strings: &'d [u8],
    pub(super) strings_address: u64,
    pub(super) symbols_address: u64,
    pub(super) hash_address: Option<u64>,
    pub(super) relocations: Table,
    pub(super) linkage_relocations: Table,
    pub(super) relative_relocations: Table,
    pub(super) initializer: Option<u64>,
    pub(super) finalizer: Option<u64>,
    pub(super) initializers: Table,
    pub(super) finalizers: Table,
}

impl<'d> Dynamic<'d> {
    pub(super) fn read(parts: &mut Parts<'d>, range: Option<(u64, u64)>) -> Self {
        let mut dynamic = Self::default();
        let Some((address, size)) = range else {
            return dynamic;
        };
        let Some(bytes) = parts.layout.bytes(address, size) else {
            parts.problem("the dynamic table lies outside the file");
            return dynamic;
        };
        let mut strings = Table::default();
        let mut names = Vec::new();
        let mut soname = None;
        for entry in bytes.chunks_exact(16) {
            let [tag, value] = [0, 8].map(|at| {
                let mut word = [0; 8];
                word.copy_from_slice(&entry[at..at + 8]);
                u64::from_le_bytes(word)
            });
            match elf::DynamicTag(tag.cast_signed()) {
                elf::DT_NULL => break,
                elf::DT_STRTAB => strings.address = value,
                elf::DT_STRSZ => strings.size = value,
                elf::DT_SYMTAB => dynamic.symbols_address = value,
                elf::DT_HASH => dynamic.hash_address = Some(value),
                elf::DT_RELA => dynamic.relocations.address = value,
                elf::DT_RELASZ => dynamic.relocations.size = value,
                elf::DT_JMPREL => dynamic.linkage_relocations.address = value,
                elf::DT_PLTRELSZ => dynamic.linkage_relocations.size = value,
                elf::DT_RELR => dynamic.relative_relocations.address = value,
                elf::DT_RELRSZ => dynamic.relative_relocations.size = value,
                elf::DT_INIT => dynamic.initializer = Some(value),
                elf::DT_FINI => dynamic.finalizer = Some(value),
                elf::DT_INIT_ARRAY => dynamic.initializers.address = value,
                elf::DT_INIT_ARRAYSZ => dynamic.initializers.size = value,
                elf::DT_FINI_ARRAY => dynamic.finalizers.address = value,
                elf::DT_FINI_ARRAYSZ => dynamic.finalizers.size = value,
                elf::DT_NEEDED => names.push(value),
                elf::DT_SONAME => soname = Some(value),
                _ => {}
            }
        }
        dynamic.strings_address = strings.address;
        dynamic.strings = parts
            .layout
            .bytes(strings.address, strings.size)
            .unwrap_or_default();
        parts.libraries = names
            .iter()
            .filter_map(|at| dynamic.string(&mut parts.names, *at))
            .collect();
        parts.soname = soname.and_then(|at| dynamic.string(&mut parts.names, at));
        dynamic
    }

    /// A string of the dynamic string table.
    pub(super) fn string(&self, names: &mut NameReader, offset: u64) -> Option<&'d str> {
        names.read(self.strings.get(usize::try_from(offset).ok()?..)?)
    }

    /// The functions of an initializer or finalizer array, and the single one beside it.
    pub(super) fn functions(
        &self,
        parts: &Parts<'_>,
        single: Option<u64>,
        array: Table,
    ) -> Vec<u64> {
        let slots = array.size.min(parts.data.len() as u64) / 8;
        let entries = (0..slots).filter_map(|index| {
            let slot = array.address.checked_add(index * 8)?;
            match parts.links.at(slot) {
                Some(link) => crate::links::resolve(link, &parts.imports).and_then(Target::local),
                None => parts.layout.u64_at(slot),
            }
        });
        single
            .into_iter()
            .chain(entries)
            .filter(|address| parts.layout.is_executable(*address))
            .collect()
    }
}
