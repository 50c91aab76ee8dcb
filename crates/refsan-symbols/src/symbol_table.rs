//! The functions that a file's symbol tables name.
//!
//! A symbol answers for its own bytes only. The nearest symbol below an address, which many tools
//! show, is in a stripped file some exported function that has nothing to do with it.

use object::LittleEndian;
use object::elf::{self, Sym64};

use crate::binary::{Binary, Section};
use crate::function_ranges::FunctionRange;

/// Which tables a file has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TableKind {
    /// `.symtab`: all functions.
    Full,
    /// `.dynsym`: exported functions.
    Dynamic,
}

#[derive(Clone, Copy, Debug)]
struct Symbol {
    start: u64,
    end: u64,
    /// Offset of the name in the string table.
    name: u32,
    binding: elf::SymbolBind,
}

/// The functions of one table. Names stay in the file until they are asked for.
#[derive(Debug)]
pub(crate) struct SymbolTable {
    strings: Section,
    /// Sorted by start, then by end.
    symbols: Vec<Symbol>,
    /// For each symbol the greatest end of it and those before it: a short function inside a long
    /// one must not hide the long one.
    reach: Vec<u64>,
}

impl SymbolTable {
    /// Reads a table; `None` where a file has none, or one without functions.
    pub(crate) fn read(binary: &Binary, kind: TableKind) -> Option<SymbolTable> {
        let section = binary.section_of_kind(match kind {
            TableKind::Full => elf::SHT_SYMTAB,
            TableKind::Dynamic => elf::SHT_DYNSYM,
        })?;
        let strings = binary.section_at(section.link)?.clone();
        let bytes = binary.contents(section)?;
        let count = bytes.len() / size_of::<Sym64<LittleEndian>>();
        let (entries, _) =
            object::pod::slice_from_bytes::<Sym64<LittleEndian>>(&bytes, count).ok()?;
        let functions = entries.iter().filter_map(function);
        Self::new(strings, functions.collect())
    }

    fn new(strings: Section, mut symbols: Vec<Symbol>) -> Option<SymbolTable> {
        if symbols.is_empty() {
            return None;
        }
        symbols.sort_unstable_by_key(|symbol| (symbol.start, symbol.end));
        let reach = symbols.iter().scan(0, |reach, symbol| {
            *reach = symbol.end.max(*reach);
            Some(*reach)
        });
        Some(SymbolTable {
            strings,
            reach: reach.collect(),
            symbols,
        })
    }

    /// The mangled name of the function whose bytes include the address.
    pub(crate) fn name_covering(&self, binary: &Binary, address: u64) -> Option<String> {
        let aliases = self.covering(address);
        let names = aliases.iter().filter_map(|symbol| {
            let name = binary.text(&self.strings, symbol.name.into())?;
            let name = String::from_utf8_lossy(&name);
            // Linkers append the version.
            let name = name.split('@').next().unwrap_or_default().to_owned();
            (!name.is_empty()).then_some((preference(symbol, &name), name))
        });
        names.min().map(|(_, name)| name)
    }

    /// The bytes of the shortest function that includes the address.
    pub(crate) fn range_covering(&self, address: u64) -> Option<FunctionRange> {
        let symbol = self.covering(address).first()?;
        Some(FunctionRange {
            start: symbol.start,
            end: symbol.end,
        })
    }

    /// The range of the function of that name. It reads every name: for small tables.
    pub(crate) fn start_of(&self, binary: &Binary, name: &str) -> Option<u64> {
        let strings = binary.contents(&self.strings)?;
        let named = |symbol: &&Symbol| {
            let rest = strings.get(symbol.name as usize..).unwrap_or_default();
            rest.strip_prefix(name.as_bytes())
                .is_some_and(|rest| matches!(rest.first(), Some(0 | b'@')))
        };
        self.symbols.iter().find(named).map(|symbol| symbol.start)
    }

    /// The shortest function that covers the address, with its aliases.
    fn covering(&self, address: u64) -> &[Symbol] {
        let end = self
            .symbols
            .partition_point(|symbol| symbol.start <= address);
        for index in (0..end).rev() {
            if self.reach[index] <= address {
                break;
            }
            let found = self.symbols[index];
            if found.end > address {
                let same = |symbol: &Symbol| symbol.start == found.start && symbol.end == found.end;
                let first = self.symbols[..index]
                    .iter()
                    .rposition(|symbol| !same(symbol));
                return &self.symbols[first.map_or(0, |first| first + 1)..=index];
            }
        }
        &[]
    }
}

fn function(entry: &Sym64<LittleEndian>) -> Option<Symbol> {
    let endian = LittleEndian;
    let kind = entry.st_type();
    let size = entry.st_size.get(endian);
    let is_defined = entry.st_shndx.get(endian) != elf::SHN_UNDEF;
    if !is_defined || size == 0 || (kind != elf::STT_FUNC && kind != elf::STT_GNU_IFUNC) {
        return None;
    }
    let start = entry.st_value.get(endian);
    Some(Symbol {
        start,
        end: start.checked_add(size)?,
        name: entry.st_name.get(endian),
        binding: entry.st_bind(),
    })
}

/// Of several names for one function, the lowest is shown: the one that people call it by.
fn preference(symbol: &Symbol, name: &str) -> (bool, u8, usize) {
    let is_internal = name.starts_with('_') && !name.starts_with("_Z") && !name.starts_with("_R");
    let binding = match symbol.binding {
        elf::STB_GLOBAL => 0,
        elf::STB_WEAK => 1,
        _ => 2,
    };
    (is_internal, binding, name.len())
}
