//! The symbol table, which after stripping holds imports and exports.

use super::imports::{ImportTable, c_name};
use super::{Commands, ENDIAN};
use crate::layout::clipped;
use crate::links::Link;
use crate::parts::{Export, Parts};
use crate::symbols::{Symbol, SymbolKind, SymbolTable};
use object::LittleEndian;
use object::macho::{self, MachHeader64, Nlist64};
use object::read::macho::{Nlist, SymbolTable as FileSymbols};
use std::borrow::Cow;
use std::collections::HashMap;

type Table<'d> = FileSymbols<'d, MachHeader64<LittleEndian>>;

/// What the symbol table gives to the rest.
#[derive(Default)]
pub(super) struct Symbols<'d> {
    pub(super) table: SymbolTable<'d>,
    /// Names that other files may use: a bind to one of them stays in this file.
    pub(super) own: HashMap<&'d str, u64>,
    /// By symbol index: what an indirect symbol leads to.
    pub(super) links: Vec<Option<Link>>,
}

pub(super) fn read<'d>(
    parts: &mut Parts<'d>,
    commands: &Commands<'d>,
    imports: &mut ImportTable<'d>,
) -> Symbols<'d> {
    let Some(command) = commands.symbols else {
        return Symbols::default();
    };
    let Ok(table): object::Result<Table<'d>> = command.symbols(ENDIAN, parts.data) else {
        parts.problem("the symbol table lies outside the file");
        return Symbols::default();
    };
    let (offset, size) = (command.stroff.get(ENDIAN), command.strsize.get(ENDIAN));
    let strings = clipped(parts.data, offset.into(), size.into());
    let mut symbols = Vec::new();
    let mut own = HashMap::new();
    let mut links = Vec::with_capacity(table.len());
    for entry in table.iter() {
        let name = strings
            .get(entry.n_strx(ENDIAN) as usize..)
            .and_then(|bytes| parts.names.read(bytes))
            .map(c_name)
            .filter(|name| !name.is_empty() && !entry.is_stab());
        links.push(name.and_then(|name| {
            if entry.is_undefined() {
                let library = entry.library_ordinal(ENDIAN).index();
                let library = library.and_then(|ordinal| library_name(parts, ordinal.into()));
                let weak = entry.n_desc(ENDIAN).contains(macho::N_WEAK_REF);
                return Some(Link::Import(imports.index(name, library, weak)));
            }
            if !entry.is_definition() {
                return None;
            }
            let symbol = defined(parts, commands, entry, name);
            if symbol.global {
                own.insert(name, symbol.address);
                parts.exports.push(Export {
                    name: Cow::Borrowed(name),
                    address: symbol.address,
                });
            } else {
                parts.debug.has_local_symbols = true;
            }
            symbols.push(symbol);
            Some(Link::Local(symbol.address))
        }));
    }
    Symbols {
        table: SymbolTable::new(symbols),
        own,
        links,
    }
}

fn defined<'d>(
    parts: &Parts<'d>,
    commands: &Commands<'d>,
    entry: &Nlist64<LittleEndian>,
    name: &'d str,
) -> Symbol<'d> {
    let address = entry.n_value(ENDIAN);
    let section = usize::from(entry.n_sect())
        .checked_sub(1)
        .and_then(|index| commands.tables.get(index));
    let kind = match section {
        Some(table) if table.section.executable => SymbolKind::Function,
        Some(_) => SymbolKind::Data,
        None if parts.layout.is_executable(address) => SymbolKind::Unknown,
        None => SymbolKind::Data,
    };
    let flags = entry.n_type();
    Symbol {
        name,
        address,
        size: 0,
        kind,
        global: flags.contains(macho::N_EXT) && !flags.contains(macho::N_PEXT),
    }
}

/// The library of a one-based ordinal.
pub(super) fn library_name<'d>(parts: &Parts<'d>, ordinal: u64) -> Option<&'d str> {
    let index = usize::try_from(ordinal.checked_sub(1)?).ok()?;
    parts.libraries.get(index).copied()
}
