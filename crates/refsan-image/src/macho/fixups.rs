//! What dyld writes into the image: rebase and bind streams, chained fixups, and for slots that
//! neither names, the indirect symbol table.

use super::imports::{ImportTable, c_name};
use super::symbols::{Symbols, library_name};
use super::{Commands, ENDIAN, FileSegment};
use crate::links::{Link, LinkedWord};
use crate::parts::Parts;
use object::LittleEndian;
use object::macho;
use object::read::macho::{Bind, Fixup};
use std::collections::HashSet;

/// Pointers carry tags in their high byte.
const ADDRESS_BITS: u64 = 0x00ff_ffff_ffff_ffff;

pub(super) fn read<'d>(
    parts: &mut Parts<'d>,
    commands: &Commands<'d>,
    imports: &mut ImportTable<'d>,
    symbols: &Symbols<'d>,
) -> Vec<LinkedWord> {
    let mut reader = Reader {
        // Streams count in a few bytes; no sound one names more places than there are words.
        budget: parts.data.len() / 8 + 1,
        parts,
        commands,
        imports,
        symbols,
        words: Vec::new(),
        last_name: None,
    };
    let complete = reader.streams().and_then(|()| reader.chains());
    if let Err(reason) = complete {
        reader.parts.problem(reason);
    }
    reader.indirect();
    reader.words
}

struct Reader<'p, 'd> {
    budget: usize,
    parts: &'p mut Parts<'d>,
    commands: &'p Commands<'d>,
    imports: &'p mut ImportTable<'d>,
    symbols: &'p Symbols<'d>,
    words: Vec<LinkedWord>,
    /// The name of the last bind, and the same as text.
    last_name: Option<(&'d [u8], Option<&'d str>)>,
}

const DAMAGED_STREAM: &str = "a rebase or bind stream is damaged";
const DAMAGED_CHAIN: &str = "the chained fixups are damaged";
const TOO_MANY: &str = "more fixups than the file has words";

impl<'d> Reader<'_, 'd> {
    /// Counts a place; the error ends reading.
    fn spend(&mut self) -> Result<(), &'static str> {
        self.budget = self.budget.checked_sub(1).ok_or(TOO_MANY)?;
        Ok(())
    }

    fn place(&self, segment: u8, offset: u64) -> Option<u64> {
        let segment: &FileSegment = self.commands.segments.get(usize::from(segment))?;
        (offset < segment.size).then(|| segment.address.wrapping_add(offset))
    }

    fn streams(&mut self) -> Result<(), &'static str> {
        let Some(info) = self.commands.dyld_info else {
            return Ok(());
        };
        let data = self.parts.data;
        for rebase in info.rebases(ENDIAN, data, 8).map_err(|_| DAMAGED_STREAM)? {
            let rebase = rebase.map_err(|_| DAMAGED_STREAM)?;
            self.spend()?;
            let place = self.place(rebase.segment_index, rebase.segment_offset);
            let Some(address) = place.filter(|_| rebase.kind == macho::REBASE_TYPE_POINTER) else {
                continue;
            };
            if let Some(value) = self.parts.layout.u64_at(address) {
                let link = Link::Local(self.untagged(value));
                self.words.push(LinkedWord { address, link });
            }
        }
        let streams = [
            info.binds(ENDIAN, data, 8),
            info.weak_binds(ENDIAN, data, 8),
            info.lazy_binds(ENDIAN, data, 8),
        ];
        for stream in streams {
            for bind in stream.map_err(|_| DAMAGED_STREAM)? {
                self.spend()?;
                self.bind(&bind.map_err(|_| DAMAGED_STREAM)?);
            }
        }
        Ok(())
    }

    fn bind(&mut self, bind: &Bind<'d>) {
        let Some(address) = self.place(bind.segment_index, bind.segment_offset) else {
            return;
        };
        let library = bind
            .dylib
            .index()
            .and_then(|ordinal| library_name(self.parts, ordinal.into()));
        let weak = bind.flags.contains(macho::BIND_SYMBOL_FLAGS_WEAK_IMPORT);
        // One name may be bound at a great many places.
        let name = match self.last_name {
            Some((bytes, name)) if std::ptr::eq(bytes, bind.symbol) => name,
            _ => std::str::from_utf8(bind.symbol)
                .ok()
                .filter(|_| self.parts.names.spend(bind.symbol.len() as u64)),
        };
        self.last_name = Some((bind.symbol, name));
        if let Some(name) = name {
            let link = self.symbol(name, library, weak, bind.addend);
            self.words.push(LinkedWord { address, link });
        }
    }

    /// A name that the file defines itself stays in the file.
    fn symbol(&mut self, name: &'d str, library: Option<&'d str>, weak: bool, addend: i64) -> Link {
        let name = c_name(name);
        match self.symbols.own.get(name) {
            Some(address) => Link::Local(address.wrapping_add_signed(addend)),
            None => Link::Import(self.imports.index(name, library, weak)),
        }
    }

    fn untagged(&self, value: u64) -> u64 {
        if self.parts.layout.contains(value) {
            value
        } else {
            value & ADDRESS_BITS
        }
    }

    fn chains(&mut self) -> Result<(), &'static str> {
        let Some(command) = self.commands.fixups else {
            return Ok(());
        };
        let data = self.parts.data;
        let table = command
            .chained_fixups(ENDIAN, data)
            .map_err(|_| DAMAGED_CHAIN)?;
        let bytes = command.data(ENDIAN, data).map_err(|_| DAMAGED_CHAIN)?;
        let links = self.chained_imports(bytes, table.header())?;
        let base = self.commands.base;
        for chain in table.segments(ENDIAN).map_err(|_| DAMAGED_CHAIN)? {
            let chain = chain.map_err(|_| DAMAGED_CHAIN)?;
            let Some(segment) = self.commands.segments.get(chain.index() as usize).copied() else {
                return Err(DAMAGED_CHAIN);
            };
            let bytes = crate::layout::clipped(data, segment.data_offset, segment.data_size);
            for fixup in chain.fixups(ENDIAN, base, bytes) {
                let (offset, fixup) = fixup.map_err(|_| DAMAGED_CHAIN)?;
                self.spend()?;
                let address = segment.address.wrapping_add(offset);
                let link = match fixup {
                    Fixup::Rebase(rebase) => {
                        let target = rebase.target_offset & ADDRESS_BITS;
                        Some(Link::Local(base.wrapping_add(target)))
                    }
                    Fixup::Bind(bind) => links
                        .get(bind.ordinal as usize)
                        .copied()
                        .flatten()
                        .map(|link| with_addend(link, bind.addend)),
                    _ => None,
                };
                if let Some(link) = link {
                    self.words.push(LinkedWord { address, link });
                }
            }
        }
        Ok(())
    }

    /// The imports that chained fixups count. Each is a packed word, for some formats followed by
    /// an addend; names are read within bounds.
    fn chained_imports(
        &mut self,
        data: &'d [u8],
        header: &macho::DyldChainedFixupsHeader<LittleEndian>,
    ) -> Result<Vec<Option<Link>>, &'static str> {
        let size = match header.imports_format.get(ENDIAN) {
            macho::DYLD_CHAINED_IMPORT => 4,
            macho::DYLD_CHAINED_IMPORT_ADDEND => 8,
            macho::DYLD_CHAINED_IMPORT_ADDEND64 => 16,
            _ => return Err("the imports of the chained fixups have an unknown format"),
        };
        if header.symbols_format.get(ENDIAN) != 0 {
            return Err("the names of the chained fixups are compressed");
        }
        let part = |offset: u32| data.get(offset as usize..).ok_or(DAMAGED_CHAIN);
        let names = part(header.symbols_offset.get(ENDIAN))?;
        let entries = part(header.imports_offset.get(ENDIAN))?;
        let count = header.imports_count.get(ENDIAN) as usize;
        let mut links = Vec::new();
        for entry in entries.chunks_exact(size).take(count) {
            self.spend()?;
            let mut bytes = [0; 16];
            bytes[..size].copy_from_slice(entry);
            let packed = u128::from_le_bytes(bytes);
            let (low, high) = (packed as u64, (packed >> 64) as u64);
            // Library ordinal with a sign, weak bit, name offset, addend.
            let (ordinal, weak, name, addend) = if size == 16 {
                let ordinal = i64::from(low as i16);
                (ordinal, low >> 16 & 1, low >> 32, high.cast_signed())
            } else {
                let ordinal = i64::from(low as i8);
                let addend = i64::from((low >> 32) as i32);
                (ordinal, low >> 8 & 1, low >> 9 & 0x7f_ffff, addend)
            };
            let library = u64::try_from(ordinal)
                .ok()
                .and_then(|ordinal| library_name(self.parts, ordinal));
            let name = usize::try_from(name).ok().and_then(|at| names.get(at..));
            let name = name.and_then(|bytes| self.parts.names.read(bytes));
            links.push(name.map(|name| self.symbol(name, library, weak == 1, addend)));
        }
        if links.len() < count {
            return Err(DAMAGED_CHAIN);
        }
        Ok(links)
    }

    /// Symbol pointer sections by the indirect symbol table, where no stream named the slot.
    fn indirect(&mut self) {
        let Some(command) = self.commands.indirect else {
            return;
        };
        let Ok(indirect) = command.indirect_symbols(ENDIAN, self.parts.data) else {
            self.parts
                .problem("the indirect symbol table lies outside the file");
            return;
        };
        let known: HashSet<u64> = self.words.iter().map(|word| word.address).collect();
        for table in &self.commands.tables {
            if !matches!(
                table.kind,
                macho::S_NON_LAZY_SYMBOL_POINTERS | macho::S_LAZY_SYMBOL_POINTERS
            ) {
                continue;
            }
            let entries = indirect
                .get(table.first_indirect as usize..)
                .unwrap_or_default();
            let slots = usize::try_from(table.section.size / 8).unwrap_or(usize::MAX);
            for (index, entry) in (0u64..).zip(entries.iter().take(slots)) {
                let address = table.section.address.wrapping_add(index * 8);
                if self.spend().is_err() {
                    self.parts.problem(TOO_MANY);
                    return;
                }
                if known.contains(&address) {
                    continue;
                }
                let link = match entry.get(ENDIAN).index() {
                    Some(index) => self.symbols.links.get(index as usize).copied().flatten(),
                    None => self.parts.layout.u64_at(address).map(Link::Local),
                };
                if let Some(link) = link {
                    self.words.push(LinkedWord { address, link });
                }
            }
        }
    }
}

fn with_addend(link: Link, addend: i32) -> Link {
    match link {
        Link::Local(address) => Link::Local(address.wrapping_add_signed(addend.into())),
        Link::Import(_) => link,
    }
}
