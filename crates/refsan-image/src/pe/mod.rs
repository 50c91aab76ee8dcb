//! PE files for x86-64: extension modules and libraries of Windows. Addresses are relative to
//! the image base.

mod imports;
mod initializers;
mod symbols;
mod thread_local;
mod unwind;

use crate::error::ImageError;
use crate::functions::FunctionCollector;
use crate::layout::{Layout, Section, Segment, clipped};
use crate::links::{Link, LinkedWord, Links};
use crate::parts::{Architecture, Export, Format, Parts};
use crate::symbols::{SymbolKind, SymbolTable};
use object::LittleEndian;
use object::pe::{self, ImageDosHeader, ImageNtHeaders64};
use object::read::pe::{DataDirectories, ImageNtHeaders, ImageOptionalHeader, SectionTable};
use std::borrow::Cow;

const ENDIAN: LittleEndian = LittleEndian;

/// What every table is found by.
struct Headers<'d> {
    directories: DataDirectories<'d>,
    sections: SectionTable<'d>,
    image_base: u64,
}

impl Headers<'_> {
    /// Address and size of a table; `None` if there is none.
    fn directory(&self, index: usize) -> Option<(u64, u64)> {
        let (address, size) = self.directories.get(index)?.address_range();
        (address != 0).then_some((address.into(), size.into()))
    }
}

/// Reads the headers; what they lead to is read as far as it is sound.
pub(crate) fn parse(data: &[u8]) -> Result<Parts<'_>, ImageError> {
    let header = ImageDosHeader::parse(data).map_err(|_| not_pe(data))?;
    let mut offset = u64::from(header.nt_headers_offset());
    let start = usize::try_from(offset).unwrap_or(usize::MAX);
    if data.get(start..).and_then(|rest| rest.first_chunk()) != Some(b"PE\0\0") {
        return Err(not_pe(data));
    }
    let field = |at: usize| {
        let bytes = data.get(start.checked_add(at)?..)?.first_chunk::<2>()?;
        Some(u16::from_le_bytes(*bytes))
    };
    match field(4).map(pe::Machine) {
        Some(pe::IMAGE_FILE_MACHINE_AMD64) => {}
        Some(machine) => {
            let name = match machine {
                pe::IMAGE_FILE_MACHINE_I386 => "32-bit x86 Windows".into(),
                pe::IMAGE_FILE_MACHINE_ARM64 => "arm64 Windows".into(),
                other => format!("PE machine {:#x}", other.0),
            };
            return Err(ImageError::UnsupportedArchitecture(name));
        }
        None => return Err(ImageError::malformed("a PE file header", offset)),
    }
    let at = offset;
    let (headers, directories) = ImageNtHeaders64::parse(data, &mut offset)
        .map_err(|error| ImageError::malformed(error.to_string(), at))?;
    let sections = headers
        .sections(data, offset)
        .map_err(|error| ImageError::malformed(error.to_string(), offset))?;
    let optional = headers.optional_header();
    let mut parts = Parts::new(data, Format::Pe, Architecture::X86_64);
    let headers_size = u64::from(optional.size_of_headers());
    let headers = Headers {
        directories,
        sections,
        image_base: optional.image_base(),
    };
    read_sections(&mut parts, &headers, headers_size);
    parts.sort();

    let mut words = base_relocations(&mut parts, &headers);
    imports::read(&mut parts, &headers, &mut words);
    parts.links = Links::new(words);
    read_exports(&mut parts, &headers);
    parts.sort();
    parts.symbols = SymbolTable::new(symbols::read(&mut parts, &headers));
    read_debug(&mut parts, &headers);
    thread_local::read(&mut parts, &headers);
    initializers::read(&mut parts);

    let entry = u64::from(optional.address_of_entry_point());
    parts.functions = functions(&mut parts, &headers, entry);
    parts.sort();
    Ok(parts)
}

fn not_pe(data: &[u8]) -> ImageError {
    ImageError::NotABinary {
        found: data[..data.len().min(8)].to_vec(),
    }
}

fn read_sections<'d>(parts: &mut Parts<'d>, headers: &Headers<'d>, headers_size: u64) {
    let mut segments = vec![Segment {
        address: 0,
        memory_size: headers_size,
        data: clipped(parts.data, 0, headers_size),
        executable: false,
    }];
    for section in headers.sections.iter() {
        let flags = section.characteristics.get(ENDIAN);
        let (address, size) = section.pe_address_range();
        let (offset, file_size) = section.pe_file_range();
        let bytes = clipped(parts.data, offset.into(), file_size.into());
        if (bytes.len() as u64) < u64::from(file_size) {
            parts.problem("a section reaches over the end of the file");
        }
        let length = section.name.iter().position(|byte| *byte == 0).unwrap_or(8);
        let section = Section {
            name: std::str::from_utf8(&section.name[..length]).unwrap_or_default(),
            segment: "",
            address: address.into(),
            size: size.into(),
            executable: flags.contains(pe::IMAGE_SCN_MEM_EXECUTE),
            writable: flags.contains(pe::IMAGE_SCN_MEM_WRITE),
            zero_fill: file_size == 0,
        };
        if section.name.starts_with(".debug") || section.name.starts_with("/4") {
            parts.debug.has_dwarf = true;
        }
        if !section.writable {
            parts.constant.push(section.address..section.end());
        }
        segments.push(Segment {
            address: section.address,
            memory_size: section.size,
            data: bytes,
            executable: section.executable,
        });
        parts.sections.push(section);
    }
    parts.layout = Layout::new(segments);
}

/// Words that the loader adjusts hold absolute addresses.
fn base_relocations<'d>(parts: &mut Parts<'d>, headers: &Headers<'d>) -> Vec<LinkedWord> {
    let mut words = Vec::new();
    // Each is eight bytes long.
    let most = parts.data.len() / 8;
    let blocks = headers
        .directories
        .relocation_blocks(parts.data, &headers.sections);
    let mut blocks = match blocks {
        Ok(Some(blocks)) => blocks,
        Ok(None) => return words,
        Err(_) => {
            parts.problem("the base relocations lie outside the file");
            return words;
        }
    };
    loop {
        match blocks.next() {
            Ok(Some(block)) => {
                let wide = block.filter(|entry| entry.typ == pe::IMAGE_REL_BASED_DIR64);
                let left = most.saturating_sub(words.len());
                words.extend(wide.take(left).filter_map(|entry| {
                    let address = u64::from(entry.virtual_address);
                    let value = parts.layout.u64_at(address)?;
                    let target = value.checked_sub(headers.image_base)?;
                    Some(LinkedWord {
                        address,
                        link: Link::Local(target),
                    })
                }));
            }
            Ok(None) => break,
            Err(_) => {
                parts.problem("the base relocations end in damaged data");
                break;
            }
        }
    }
    words
}

fn read_exports<'d>(parts: &mut Parts<'d>, headers: &Headers<'d>) {
    let table = match headers
        .directories
        .export_table(parts.data, &headers.sections)
    {
        Ok(Some(table)) => table,
        Ok(None) => return,
        Err(_) => {
            parts.problem("the export table is damaged");
            return;
        }
    };
    parts.soname = parts.name_at(table.directory().name.get(ENDIAN).into());
    for (name, index) in table.name_iter() {
        let Some(name) = parts.name_at(name.into()) else {
            continue;
        };
        match table.address_by_index(index) {
            // The name of a function of another library.
            Ok(address) if table.is_forward(address) => {}
            Ok(address) => parts.exports.push(Export {
                name: Cow::Borrowed(name),
                address: address.into(),
            }),
            Err(_) => parts.problem("the export table is damaged"),
        }
    }
}

/// The CodeView record: a signature, the GUID, an age and the path of the PDB.
fn read_debug<'d>(parts: &mut Parts<'d>, headers: &Headers<'d>) {
    let Some((address, size)) = headers.directory(pe::IMAGE_DIRECTORY_ENTRY_DEBUG) else {
        return;
    };
    let Some(entries) = parts.layout.bytes(address, size) else {
        parts.problem("the debug directory lies outside the file");
        return;
    };
    let records = entries
        .chunks_exact(size_of::<pe::ImageDebugDirectory>())
        .filter_map(|entry| object::pod::from_bytes::<pe::ImageDebugDirectory>(entry).ok())
        .filter(|(entry, _)| entry.typ.get(ENDIAN) == pe::IMAGE_DEBUG_TYPE_CODEVIEW);
    for (entry, _) in records {
        let offset = entry.pointer_to_raw_data.get(ENDIAN);
        let bytes = clipped(
            parts.data,
            offset.into(),
            entry.size_of_data.get(ENDIAN).into(),
        );
        if let Some(rest) = bytes.strip_prefix(b"RSDS") {
            parts.debug.build_id = rest.get(..16);
            parts.debug.separate_file = rest
                .get(20..)
                .and_then(|path| crate::layout::text(path, 1 << 12));
        }
    }
}

fn functions(
    parts: &mut Parts<'_>,
    headers: &Headers<'_>,
    entry: u64,
) -> Vec<crate::functions::FunctionRange> {
    let mut functions = FunctionCollector {
        exact: unwind::ranges(parts, headers),
        starts: Vec::new(),
    };
    let symbols = parts.symbols.all().iter();
    let named = symbols
        .filter(|symbol| symbol.kind == SymbolKind::Function)
        .map(|symbol| symbol.address);
    let exported = parts.exports.iter().map(|export| export.address);
    // Leaf functions have no unwind entry; a pointer to one shows where it begins.
    let pointed = parts
        .links
        .words()
        .iter()
        .filter_map(|word| match word.link {
            Link::Local(target) => Some(target),
            Link::Import(_) => None,
        });
    let listed = parts.initializers.iter().chain(&parts.finalizers);
    let listed = listed.chain(&parts.thread_callbacks).copied();
    let starts = named.chain(exported).chain(pointed).chain(listed);
    functions.starts.extend(
        starts
            .chain([entry])
            .filter(|address| parts.layout.is_executable(*address))
            .map(|address| (address, None)),
    );
    functions.finish(|address| parts.code_region_end(address))
}
