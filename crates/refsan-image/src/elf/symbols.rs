//! Dynamic symbols and, where it was left in, the full symbol table.

use super::dynamic::Dynamic;
use super::{ENDIAN, ElfSymbol, Sections};
use crate::links::Import;
use crate::parts::{Export, Parts};
use crate::symbols::{Symbol, SymbolKind};
use object::elf;
use object::read::elf::{SectionHeader, Sym};
use std::borrow::Cow;

const SYMBOL_SIZE: u64 = 24;

/// The dynamic symbols, and which import each undefined one is.
#[derive(Debug, Default)]
pub(super) struct DynamicSymbols<'d> {
    pub(super) symbols: &'d [ElfSymbol],
    /// By symbol index: index among the imports, `u32::MAX` for a defined symbol.
    pub(super) imports: Vec<u32>,
}

/// All defined symbols.
#[derive(Debug, Default)]
pub(super) struct Defined<'d> {
    pub(super) symbols: Vec<Symbol<'d>>,
    pub(super) thread_local: Vec<Symbol<'d>>,
}

/// Reads the dynamic symbols, and with them imports and exports.
pub(super) fn dynamic<'d>(
    parts: &mut Parts<'d>,
    dynamic: &Dynamic<'d>,
    sections: &Sections<'d>,
) -> DynamicSymbols<'d> {
    let symbols = sections
        .symbols(ENDIAN, parts.data, elf::SHT_DYNSYM)
        .ok()
        .map(|table| table.symbols())
        .filter(|symbols| !symbols.is_empty())
        .unwrap_or_else(|| without_sections(parts, dynamic));
    let mut imports = Vec::with_capacity(symbols.len());
    for symbol in symbols {
        let name = dynamic
            .string(&mut parts.names, symbol.st_name(ENDIAN).into())
            .unwrap_or("");
        // The symbol with number 0 stands for the value 0.
        let undefined = symbol.st_shndx(ENDIAN) == elf::SHN_UNDEF && !name.is_empty();
        if undefined {
            imports.push(u32::try_from(parts.imports.len()).unwrap_or(u32::MAX));
            parts.imports.push(Import {
                name: Cow::Borrowed(name),
                library: None,
                weak: symbol.st_bind() == elf::STB_WEAK,
            });
        } else {
            imports.push(u32::MAX);
            let kind = symbol.st_type();
            if symbol.st_bind() != elf::STB_LOCAL && kind != elf::STT_TLS && !name.is_empty() {
                parts.exports.push(Export {
                    name: Cow::Borrowed(name),
                    address: symbol.st_value(ENDIAN),
                });
            }
        }
    }
    DynamicSymbols { symbols, imports }
}

/// Without section headers the number of symbols is known from the old hash table, or from
/// the string table, which linkers put right behind the symbols.
fn without_sections<'d>(parts: &Parts<'d>, dynamic: &Dynamic<'d>) -> &'d [ElfSymbol] {
    let layout = &parts.layout;
    let hashed = dynamic
        .hash_address
        .and_then(|address| layout.u32_at(address.checked_add(4)?))
        .map(u64::from);
    let before_strings = dynamic
        .strings_address
        .checked_sub(dynamic.symbols_address)
        .map(|size| size / SYMBOL_SIZE);
    let Some(count) = hashed.or(before_strings) else {
        return &[];
    };
    let Some(size) = count.checked_mul(SYMBOL_SIZE) else {
        return &[];
    };
    layout
        .bytes(dynamic.symbols_address, size)
        .and_then(|bytes| object::pod::slice_from_all_bytes(bytes).ok())
        .unwrap_or_default()
}

/// The defined symbols of both tables.
pub(super) fn defined<'d>(
    parts: &mut Parts<'d>,
    dynamic: &Dynamic<'d>,
    dynamic_symbols: &DynamicSymbols<'d>,
    sections: &Sections<'d>,
) -> Defined<'d> {
    let mut defined = Defined::default();
    match sections.symbols(ENDIAN, parts.data, elf::SHT_SYMTAB) {
        Ok(table) if !table.is_empty() => {
            parts.debug.has_local_symbols = true;
            defined.symbols.reserve(table.len());
            let strings = sections
                .section(table.string_section())
                .and_then(|section| section.data(ENDIAN, parts.data))
                .unwrap_or_default();
            for symbol in table.symbols() {
                let name = strings.get(symbol.st_name(ENDIAN) as usize..);
                let name = name.and_then(|bytes| parts.names.read(bytes));
                defined.add(symbol, name.unwrap_or(""));
            }
        }
        Ok(_) => {}
        Err(_) => parts.problem("the symbol table cannot be read"),
    }
    for symbol in dynamic_symbols.symbols {
        let name = dynamic.string(&mut parts.names, symbol.st_name(ENDIAN).into());
        defined.add(symbol, name.unwrap_or(""));
    }
    defined.thread_local.sort_by_key(|symbol| symbol.address);
    defined
}

impl<'d> Defined<'d> {
    fn add(&mut self, symbol: &ElfSymbol, name: &'d str) {
        let index = symbol.st_shndx(ENDIAN);
        let is_defined = index != elf::SHN_UNDEF && index != elf::SHN_ABS;
        // `$x` and `$d` tell code from data on aarch64.
        if name.is_empty() || name.starts_with('$') || !is_defined {
            return;
        }
        let kind = match symbol.st_type() {
            elf::STT_FUNC | elf::STT_GNU_IFUNC => SymbolKind::Function,
            elf::STT_OBJECT | elf::STT_COMMON | elf::STT_TLS => SymbolKind::Data,
            elf::STT_NOTYPE => SymbolKind::Unknown,
            _ => return,
        };
        let entry = Symbol {
            name,
            address: symbol.st_value(ENDIAN),
            size: symbol.st_size(ENDIAN),
            kind,
            global: symbol.st_bind() != elf::STB_LOCAL,
        };
        if symbol.st_type() == elf::STT_TLS {
            self.thread_local.push(entry);
        } else {
            self.symbols.push(entry);
        }
    }
}
