//! COFF symbols, which MinGW leaves in, and the exports as symbols.

use super::{ENDIAN, Headers};
use crate::layout::clipped;
use crate::parts::Parts;
use crate::symbols::{Symbol, SymbolKind};
use object::pe::{self, ImageDosHeader, ImageNtHeaders64};
use object::read::coff::Symbol as _;
use object::read::pe::ImageNtHeaders;
use std::borrow::Cow;

/// Size of a symbol in the file.
const COFF_SYMBOL: u64 = 18;

pub(super) fn read<'d>(parts: &mut Parts<'d>, headers: &Headers<'d>) -> Vec<Symbol<'d>> {
    let mut symbols: Vec<Symbol<'d>> = parts
        .exports
        .iter()
        .filter_map(|export| match export.name {
            Cow::Borrowed(name) => Some(Symbol {
                name,
                address: export.address,
                size: 0,
                kind: if parts.layout.is_executable(export.address) {
                    SymbolKind::Function
                } else {
                    SymbolKind::Data
                },
                global: true,
            }),
            Cow::Owned(_) => None,
        })
        .collect();
    if let Some(mut coff) = coff_symbols(parts, headers) {
        symbols.append(&mut coff);
    }
    symbols
}

fn coff_symbols<'d>(parts: &mut Parts<'d>, headers: &Headers<'d>) -> Option<Vec<Symbol<'d>>> {
    let dos = ImageDosHeader::parse(parts.data).ok()?;
    let mut offset = u64::from(dos.nt_headers_offset());
    let (nt, _) = ImageNtHeaders64::parse(parts.data, &mut offset).ok()?;
    let table = nt.symbols(parts.data).ok()?;
    let header = nt.file_header();
    let symbols_size = u64::from(header.number_of_symbols.get(ENDIAN)) * COFF_SYMBOL;
    let strings = u64::from(header.pointer_to_symbol_table.get(ENDIAN)) + symbols_size;
    let strings = clipped(parts.data, strings, u64::MAX);
    let mut symbols = Vec::new();
    for (_, symbol) in table.iter() {
        let function = symbol.derived_type() == pe::IMAGE_SYM_DTYPE_FUNCTION;
        let global = symbol.storage_class() == pe::IMAGE_SYM_CLASS_EXTERNAL;
        // Short names stand in the symbol, others in the strings behind the symbols.
        let name = match symbol.raw_name() {
            [0, 0, 0, 0, offset @ ..] => strings
                .get(u32::from_le_bytes(*offset) as usize..)
                .and_then(|bytes| parts.names.read(bytes)),
            short => {
                let length = short.iter().position(|byte| *byte == 0).unwrap_or(8);
                std::str::from_utf8(&short[..length]).ok()
            }
        };
        let address = symbol.address(0, &headers.sections).ok().flatten();
        let (Some(name), Some(address)) = (name, address) else {
            continue;
        };
        // The rest are sections, files and labels.
        if (function || global) && !name.is_empty() {
            symbols.push(Symbol {
                name,
                address,
                size: 0,
                kind: match function {
                    true => SymbolKind::Function,
                    false => SymbolKind::Unknown,
                },
                global,
            });
        }
    }
    Some(symbols)
}
