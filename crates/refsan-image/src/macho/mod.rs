//! Mach-O files for x86-64 and arm64, thin and fat.

mod exports;
mod fat;
mod fixups;
mod imports;
mod symbols;

pub(crate) use fat::{is_fat, slices};

use crate::error::ImageError;
use crate::functions::FunctionCollector;
use crate::layout::{Layout, Section, Segment};
use crate::links::Links;
use crate::parts::{Architecture, CompactThreadLocal, CompactVariable, Format, Parts};
use crate::symbols::SymbolKind;
use crate::target::Target;
use crate::thread_local::ThreadLocalModel;
use imports::ImportTable;
use object::LittleEndian;
use object::macho::{self, MachHeader64, Section64, SegmentCommand64};
use object::read::macho::{
    LoadCommandData, LoadCommandVariant, MachHeader, Section as _, Segment as _,
};

const ENDIAN: LittleEndian = LittleEndian;

/// What the load commands lead to.
#[derive(Default)]
struct Commands<'d> {
    segments: Vec<FileSegment>,
    tables: Vec<TypedSection<'d>>,
    symbols: Option<&'d macho::SymtabCommand<LittleEndian>>,
    indirect: Option<&'d macho::DysymtabCommand<LittleEndian>>,
    dyld_info: Option<&'d macho::DyldInfoCommand<LittleEndian>>,
    fixups: Option<&'d macho::LinkeditDataCommand<LittleEndian>>,
    exports: Option<&'d macho::LinkeditDataCommand<LittleEndian>>,
    function_starts: Option<&'d macho::LinkeditDataCommand<LittleEndian>>,
    /// Address of the header: offsets from the image base count from here.
    base: u64,
}

/// A segment in the order of the load commands, which bind streams count by.
#[derive(Clone, Copy, Debug)]
struct FileSegment {
    address: u64,
    size: u64,
    data_offset: u64,
    data_size: u64,
}

/// A section with what its type says about it.
#[derive(Clone, Copy, Debug)]
struct TypedSection<'d> {
    section: Section<'d>,
    kind: macho::SectionType,
    /// First index in the indirect symbol table.
    first_indirect: u32,
}

/// Reads the headers of one slice; what they lead to is read as far as it is sound.
pub(crate) fn parse(data: &[u8]) -> Result<Parts<'_>, ImageError> {
    let unsupported = |name: &str| Err(ImageError::UnsupportedArchitecture(name.into()));
    match data {
        [0xcf, 0xfa, 0xed, 0xfe, ..] => {}
        [0xce, 0xfa, 0xed, 0xfe, ..] => return unsupported("32-bit Mach-O"),
        _ => return unsupported("big-endian Mach-O"),
    }
    let header = MachHeader64::<LittleEndian>::parse(data, 0)
        .map_err(|_| ImageError::malformed("a Mach-O header", 0))?;
    let architecture = match header.cputype(ENDIAN) {
        macho::CPU_TYPE_X86_64 => Architecture::X86_64,
        macho::CPU_TYPE_ARM64 => Architecture::Aarch64,
        other => return unsupported(&format!("Mach-O processor {:#x}", other.0)),
    };
    match header.filetype(ENDIAN) {
        macho::MH_EXECUTE | macho::MH_DYLIB | macho::MH_BUNDLE => {}
        macho::MH_DSYM => {
            let reason = "a dSYM companion, which has debug information and no code";
            return Err(ImageError::UnsupportedKind(reason.into()));
        }
        macho::MH_OBJECT => return Err(ImageError::UnsupportedKind("an object file".into())),
        other => {
            let reason = format!("a Mach-O file of type {}", other.0);
            return Err(ImageError::UnsupportedKind(reason));
        }
    }
    let mut parts = Parts::new(data, Format::MachO, architecture);
    let mut commands = Commands::default();
    let mut segments = Vec::new();
    let mut iterator = header
        .load_commands(ENDIAN, data, 0)
        .map_err(|error| ImageError::malformed(error.to_string(), 0x20))?;
    loop {
        match iterator.next() {
            Ok(None) => break,
            Ok(Some(command)) => {
                if read_command(&mut parts, &mut commands, &mut segments, command).is_err() {
                    parts.problem("a load command cannot be read");
                }
            }
            Err(_) => {
                parts.problem("the load commands end in damaged data");
                break;
            }
        }
    }
    parts.layout = Layout::new(segments);
    parts.sort();

    let mut imports = ImportTable::default();
    let symbols = symbols::read(&mut parts, &commands, &mut imports);
    exports::read(&mut parts, &commands);
    let words = fixups::read(&mut parts, &commands, &mut imports, &symbols);
    parts.links = Links::new(words);
    parts.imports = imports.finish();
    parts.symbols = symbols.table;

    read_typed_sections(&mut parts, &commands);
    parts.functions = functions(&mut parts, &commands);
    parts.sort();
    Ok(parts)
}

fn read_command<'d>(
    parts: &mut Parts<'d>,
    commands: &mut Commands<'d>,
    segments: &mut Vec<Segment<'d>>,
    command: LoadCommandData<'d, LittleEndian>,
) -> object::Result<()> {
    match command.variant()? {
        LoadCommandVariant::Segment64(segment, sections) => {
            read_segment(parts, commands, segments, segment, sections)?;
        }
        LoadCommandVariant::Symtab(table) => commands.symbols = Some(table),
        LoadCommandVariant::Dysymtab(table) => commands.indirect = Some(table),
        LoadCommandVariant::DyldInfo(info) => commands.dyld_info = Some(info),
        LoadCommandVariant::LinkeditData(table) => match command.cmd() {
            macho::LC_DYLD_CHAINED_FIXUPS => commands.fixups = Some(table),
            macho::LC_DYLD_EXPORTS_TRIE => commands.exports = Some(table),
            macho::LC_FUNCTION_STARTS => commands.function_starts = Some(table),
            _ => {}
        },
        LoadCommandVariant::Dylib(library) => {
            let name = command.string(ENDIAN, library.dylib.name)?;
            // The place counts, even if the name is damaged.
            parts
                .libraries
                .push(std::str::from_utf8(name).unwrap_or_default());
        }
        LoadCommandVariant::IdDylib(library) => {
            let name = command.string(ENDIAN, library.dylib.name)?;
            parts.soname = std::str::from_utf8(name).ok();
        }
        LoadCommandVariant::Uuid(uuid) => parts.debug.build_id = Some(&uuid.uuid),
        _ => {}
    }
    Ok(())
}

fn read_segment<'d>(
    parts: &mut Parts<'d>,
    commands: &mut Commands<'d>,
    segments: &mut Vec<Segment<'d>>,
    segment: &'d SegmentCommand64<LittleEndian>,
    sections: &'d [u8],
) -> object::Result<()> {
    let file = FileSegment {
        address: segment.vmaddr(ENDIAN),
        size: segment.vmsize(ENDIAN),
        data_offset: segment.fileoff(ENDIAN),
        data_size: segment.filesize(ENDIAN),
    };
    commands.segments.push(file);
    let name = fixed_text(&segment.segname);
    if name == "__TEXT" {
        commands.base = file.address;
    }
    if name == "__DATA_CONST" || name == "__AUTH_CONST" {
        let end = file.address.saturating_add(file.size);
        parts.constant.push(file.address..end);
    }
    let executable = segment.initprot(ENDIAN).contains(macho::VM_PROT_EXECUTE);
    let writable = segment.initprot(ENDIAN).contains(macho::VM_PROT_WRITE);
    // The guard page of a program is no memory.
    if name != "__PAGEZERO" {
        let bytes = crate::layout::clipped(parts.data, file.data_offset, file.data_size);
        if (bytes.len() as u64) < file.data_size {
            parts.problem("a segment reaches over the end of the file");
        }
        segments.push(Segment {
            address: file.address,
            memory_size: file.size,
            data: bytes,
            executable,
        });
    }
    for section in segment.sections(ENDIAN, sections)? {
        add_section(parts, commands, section, executable, writable);
    }
    Ok(())
}

fn add_section<'d>(
    parts: &mut Parts<'d>,
    commands: &mut Commands<'d>,
    header: &'d Section64<LittleEndian>,
    executable: bool,
    writable: bool,
) {
    let flags = header.flags(ENDIAN);
    let kind = flags.typ();
    let code = macho::S_ATTR_PURE_INSTRUCTIONS | macho::S_ATTR_SOME_INSTRUCTIONS;
    let section = Section {
        name: fixed_text(&header.sectname),
        segment: fixed_text(&header.segname),
        address: header.addr(ENDIAN),
        size: header.size(ENDIAN),
        executable: executable && flags.intersects(code),
        writable,
        zero_fill: matches!(
            kind,
            macho::S_ZEROFILL | macho::S_GB_ZEROFILL | macho::S_THREAD_LOCAL_ZEROFILL
        ),
    };
    if section.segment == "__DWARF" {
        parts.debug.has_dwarf = true;
    }
    let linkage = matches!(
        kind,
        macho::S_NON_LAZY_SYMBOL_POINTERS
            | macho::S_LAZY_SYMBOL_POINTERS
            | macho::S_THREAD_LOCAL_VARIABLE_POINTERS
    );
    // `__DATA,__const` is written only by the dynamic linker, like `__DATA_CONST` since.
    if linkage || section.name == "__const" || section.name == "__auth_got" {
        parts.constant.push(section.address..section.end());
    }
    commands.tables.push(TypedSection {
        section,
        kind,
        first_indirect: header.reserved1(ENDIAN),
    });
    parts.sections.push(section);
}

/// Text in a field of fixed size.
fn fixed_text(bytes: &[u8; 16]) -> &str {
    let length = bytes.iter().position(|byte| *byte == 0).unwrap_or(16);
    std::str::from_utf8(&bytes[..length]).unwrap_or_default()
}

/// Initializers, finalizers and descriptors of thread-local variables.
fn read_typed_sections(parts: &mut Parts<'_>, commands: &Commands<'_>) {
    // Sections may overlap; no sound ones have more entries than the file has words.
    let mut left = parts.data.len() as u64 / 4;
    for table in &commands.tables {
        let section = table.section;
        let limit = section.size.min(left);
        if !matches!(
            table.kind,
            macho::S_MOD_INIT_FUNC_POINTERS
                | macho::S_MOD_TERM_FUNC_POINTERS
                | macho::S_INIT_FUNC_OFFSETS
                | macho::S_THREAD_LOCAL_VARIABLES
        ) {
            continue;
        }
        left -= limit;
        let places = |step: u64| {
            (0..limit / step).filter_map(move |index| section.address.checked_add(index * step))
        };
        let pointers = |parts: &Parts<'_>| -> Vec<u64> {
            places(8)
                .filter_map(|place| {
                    let link = parts.links.at(place)?;
                    crate::links::resolve(link, &parts.imports).and_then(Target::local)
                })
                .collect()
        };
        match table.kind {
            macho::S_MOD_INIT_FUNC_POINTERS => {
                let mut found = pointers(parts);
                parts.initializers.append(&mut found);
            }
            macho::S_MOD_TERM_FUNC_POINTERS => {
                let mut found = pointers(parts);
                parts.finalizers.append(&mut found);
            }
            macho::S_INIT_FUNC_OFFSETS => {
                let offsets = places(4).filter_map(|place| parts.layout.u32_at(place));
                let found: Vec<u64> = offsets
                    .filter_map(|offset| commands.base.checked_add(offset.into()))
                    .collect();
                parts.initializers.extend(found);
            }
            macho::S_THREAD_LOCAL_VARIABLES => {
                for address in places(24) {
                    let offset = parts.layout.u64_at(address.saturating_add(16));
                    parts.thread_locals.push(CompactThreadLocal {
                        address,
                        model: ThreadLocalModel::Thunk,
                        variable: CompactVariable::Own(offset.unwrap_or(0)),
                    });
                }
            }
            _ => {}
        }
    }
}

fn functions(
    parts: &mut Parts<'_>,
    commands: &Commands<'_>,
) -> Vec<crate::functions::FunctionRange> {
    let mut functions = FunctionCollector::default();
    if let Some(table) = commands.function_starts {
        match table.function_starts(ENDIAN, parts.data, commands.base) {
            Ok(starts) => {
                // No function is shorter than an instruction.
                for start in starts.take(parts.data.len() / 4) {
                    match start {
                        Ok(start) => functions.starts.push((start, None)),
                        Err(_) => parts.problem("the list of function starts is damaged"),
                    }
                }
            }
            Err(_) => parts.problem("the list of function starts lies outside the file"),
        }
    }
    // The list is complete where there is one; symbols may also name places inside functions.
    if functions.starts.is_empty() {
        let symbols = parts.symbols.all().iter();
        functions.starts.extend(
            symbols
                .filter(|symbol| symbol.kind == SymbolKind::Function)
                .map(|symbol| (symbol.address, None)),
        );
    }
    let listed = parts.initializers.iter().chain(&parts.finalizers);
    functions.starts.extend(listed.map(|start| (*start, None)));
    functions.finish(|address| parts.code_region_end(address))
}
