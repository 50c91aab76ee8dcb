//! ELF files for x86-64 and aarch64, with or without section headers.

mod dynamic;
mod relocations;
mod symbols;
mod unwind;

use crate::error::ImageError;
use crate::functions::FunctionCollector;
use crate::layout::{Layout, Section, Segment};
use crate::links::Links;
use crate::parts::{Architecture, Format, Parts};
use crate::symbols::{SymbolKind, SymbolTable};
use dynamic::Dynamic;
use object::LittleEndian;
use object::elf::{self, FileHeader64};
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader, SectionTable};

type Header = FileHeader64<LittleEndian>;
type Sections<'d> = SectionTable<'d, Header>;
pub(crate) type ElfSymbol = elf::Sym64<LittleEndian>;

const ENDIAN: LittleEndian = LittleEndian;

/// Reads the headers; what they lead to is read as far as it is sound.
pub(crate) fn parse(data: &[u8]) -> Result<Parts<'_>, ImageError> {
    // Class and byte order stand in the fifth and sixth byte.
    match (data.get(4), data.get(5)) {
        (Some(2), Some(1)) => {}
        (Some(1), _) => return Err(ImageError::UnsupportedArchitecture("32-bit ELF".into())),
        (_, Some(2)) => return Err(ImageError::UnsupportedArchitecture("big-endian ELF".into())),
        _ => return Err(ImageError::malformed("an ELF class and byte order", 4)),
    }
    let header = Header::parse(data).map_err(|_| ImageError::malformed("an ELF header", 0))?;
    let architecture = match header.e_machine(ENDIAN) {
        elf::EM_X86_64 => Architecture::X86_64,
        elf::EM_AARCH64 => Architecture::Aarch64,
        machine => {
            let name = format!("ELF machine {}", machine.0);
            return Err(ImageError::UnsupportedArchitecture(name));
        }
    };
    match header.e_type(ENDIAN) {
        elf::ET_DYN | elf::ET_EXEC => {}
        elf::ET_REL => return Err(ImageError::UnsupportedKind("an object file".into())),
        elf::ET_CORE => return Err(ImageError::UnsupportedKind("a core dump".into())),
        _ => return Err(ImageError::malformed("an ELF file type", 0x10)),
    }
    let program_headers = header
        .program_headers(ENDIAN, data)
        .map_err(|error| ImageError::malformed(error.to_string(), header.e_phoff(ENDIAN)))?;
    let mut parts = Parts::new(data, Format::Elf, architecture);
    let mut dynamic_range = None;
    let mut unwind_header = None;
    let mut segments = Vec::new();
    for program_header in program_headers {
        let address = program_header.p_vaddr(ENDIAN);
        let memory_size = program_header.p_memsz(ENDIAN);
        match program_header.p_type(ENDIAN) {
            elf::PT_LOAD => {
                let bytes = crate::layout::clipped(
                    data,
                    program_header.p_offset(ENDIAN),
                    program_header.p_filesz(ENDIAN),
                );
                if (bytes.len() as u64) < program_header.p_filesz(ENDIAN) {
                    parts.problem("a segment reaches over the end of the file");
                }
                segments.push(Segment {
                    address,
                    memory_size,
                    data: bytes,
                    executable: program_header.p_flags(ENDIAN).contains(elf::PF_X),
                });
            }
            elf::PT_DYNAMIC => dynamic_range = Some((address, memory_size)),
            elf::PT_GNU_EH_FRAME => unwind_header = Some(address),
            elf::PT_GNU_RELRO => parts
                .constant
                .push(address..address.saturating_add(memory_size)),
            elf::PT_NOTE => {
                let notes = program_header.notes(ENDIAN, data);
                parts.debug.build_id = parts.debug.build_id.or_else(|| build_id(notes));
            }
            _ => {}
        }
    }
    parts.layout = Layout::new(segments);
    let sections = header.sections(ENDIAN, data).unwrap_or_else(|_| {
        parts.problem("the section headers cannot be read");
        SectionTable::default()
    });
    let names = header
        .shstrndx(ENDIAN, data)
        .and_then(|index| sections.section(object::SectionIndex(index as usize)))
        .and_then(|section| section.data(ENDIAN, data))
        .unwrap_or_default();
    read_sections(&mut parts, &sections, names);
    parts.sort();

    let dynamic = Dynamic::read(&mut parts, dynamic_range);
    let dynamic_symbols = symbols::dynamic(&mut parts, &dynamic, &sections);
    let words = relocations::read(&mut parts, &dynamic, &dynamic_symbols);
    parts.links = Links::new(words);
    let mut all = symbols::defined(&mut parts, &dynamic, &dynamic_symbols, &sections);
    parts.thread_local_symbols = std::mem::take(&mut all.thread_local);
    parts.symbols = SymbolTable::new(all.symbols);
    parts.initializers = dynamic.functions(&parts, dynamic.initializer, dynamic.initializers);
    parts.finalizers = dynamic.functions(&parts, dynamic.finalizer, dynamic.finalizers);

    let mut functions = FunctionCollector {
        exact: unwind::ranges(&mut parts, unwind_header),
        starts: Vec::new(),
    };
    functions.starts.extend(
        parts
            .symbols
            .all()
            .iter()
            .filter(|symbol| symbol.kind == SymbolKind::Function)
            .map(|symbol| {
                let end = symbol.address.saturating_add(symbol.size);
                (symbol.address, (symbol.size != 0).then_some(end))
            }),
    );
    let listed = parts.initializers.iter().chain(&parts.finalizers);
    functions.starts.extend(listed.map(|start| (*start, None)));
    parts.functions = functions.finish(|address| parts.code_region_end(address));
    parts.sort();
    Ok(parts)
}

fn build_id<'d>(
    notes: object::Result<Option<object::read::elf::NoteIterator<'d, Header>>>,
) -> Option<&'d [u8]> {
    let mut notes = notes.ok()??;
    while let Ok(Some(note)) = notes.next() {
        if note.name() == elf::ELF_NOTE_GNU && note.n_type(ENDIAN) == elf::NT_GNU_BUILD_ID {
            return Some(note.desc());
        }
    }
    None
}

/// Most sections that are taken.
const MOST_SECTIONS: usize = 1 << 16;

fn read_sections<'d>(parts: &mut Parts<'d>, table: &Sections<'d>, names: &'d [u8]) {
    if table.len() > MOST_SECTIONS {
        parts.problem("more sections than a linker makes: the rest was left out");
    }
    for section in table.iter().take(MOST_SECTIONS) {
        let name = names.get(section.sh_name(ENDIAN) as usize..);
        let name = name
            .and_then(|bytes| parts.names.read(bytes))
            .unwrap_or_default();
        let flags = section.sh_flags(ENDIAN);
        if name == ".debug_info" || name == ".zdebug_info" {
            parts.debug.has_dwarf = true;
        }
        if name == ".gnu_debuglink" {
            let bytes = section.data(ENDIAN, parts.data).unwrap_or_default();
            parts.debug.separate_file = crate::layout::text(bytes, bytes.len());
        }
        // Thread-local zero-fill takes no addresses.
        let zero_fill = section.sh_type(ENDIAN) == elf::SHT_NOBITS;
        let thread_local = flags.contains(elf::SHF_TLS);
        if !flags.contains(elf::SHF_ALLOC) || zero_fill && thread_local {
            continue;
        }
        let address = section.sh_addr(ENDIAN);
        let size = section.sh_size(ENDIAN);
        if name.starts_with(".got") {
            parts.constant.push(address..address.saturating_add(size));
        }
        parts.sections.push(Section {
            name,
            segment: "",
            address,
            size,
            executable: flags.contains(elf::SHF_EXECINSTR),
            writable: flags.contains(elf::SHF_WRITE),
            zero_fill,
        });
    }
}
