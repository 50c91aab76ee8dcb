//! An ELF file on disk, of which only the pieces that are asked for are read.
//!
//! Libraries of some hundred megabytes are common in the programs that are watched, and a report
//! needs a few kilobytes of each.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use object::elf::{self, FileHeader64, ProgramHeader64};
use object::read::elf::{FileHeader as _, ProgramHeader as _, SectionHeader as _};
use object::{LittleEndian, ReadCache, ReadRef};

/// Why a file is of no use.
#[derive(Debug)]
pub(crate) enum BinaryError {
    Io(std::io::Error),
    Malformed(object::Error),
    OtherMachine,
}

impl From<std::io::Error> for BinaryError {
    fn from(error: std::io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<object::Error> for BinaryError {
    fn from(error: object::Error) -> Self {
        Self::Malformed(error)
    }
}

impl std::fmt::Display for BinaryError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Io(error) => write!(formatter, "the file cannot be read ({error})"),
            Self::Malformed(error) => write!(formatter, "it is not a sound ELF file ({error})"),
            Self::OtherMachine => formatter.write_str("it is not a program or library for x86-64"),
        }
    }
}

/// A section with contents in the file.
#[derive(Clone, Debug)]
pub(crate) struct Section {
    name: Vec<u8>,
    pub(crate) kind: elf::SectionType,
    /// The address in the file's own numbering; 0 where it is not loaded.
    pub(crate) address: u64,
    offset: u64,
    /// Size in the file, in bytes.
    pub(crate) size: u64,
    /// The number of the section that this one refers to.
    pub(crate) link: u32,
    index: u32,
    executable: bool,
}

impl Section {
    /// Whether it holds the stubs that calls of imported functions go through.
    pub(crate) fn is_linkage_table(&self) -> bool {
        self.executable && (self.name.starts_with(b".plt") || self.name == b".iplt")
    }

    /// The end of its contents, in addresses.
    pub(crate) fn end(&self) -> u64 {
        self.address.saturating_add(self.size)
    }
}

/// A loaded piece.
#[derive(Clone, Copy, Debug)]
struct Segment {
    address: u64,
    offset: u64,
    /// Size in the file, in bytes.
    size: u64,
    executable: bool,
}

/// An open file and its tables. All addresses are the file's own.
#[derive(Debug)]
pub(crate) struct Binary {
    pub(crate) path: PathBuf,
    pub(crate) build_id: Vec<u8>,
    /// Where execution begins.
    pub(crate) entry: u64,
    file: File,
    /// Size of the file, in bytes.
    length: u64,
    sections: Vec<Section>,
    segments: Vec<Segment>,
}

impl Binary {
    /// Opens a file and reads its headers.
    pub(crate) fn open(path: &Path) -> Result<Binary, BinaryError> {
        // A pipe or a device would block or never end.
        let metadata = std::fs::metadata(path)?;
        if !metadata.is_file() {
            return Err(std::io::Error::other("it is not a regular file").into());
        }
        let file = File::open(path)?;
        let cache = ReadCache::new(file.try_clone()?);
        let header = FileHeader64::<LittleEndian>::parse(&cache)?;
        let endian = header.endian()?;
        let kind = header.e_type(endian);
        if header.e_machine(endian) != elf::EM_X86_64
            || (kind != elf::ET_EXEC && kind != elf::ET_DYN)
        {
            return Err(BinaryError::OtherMachine);
        }
        let mut build_id = Vec::new();
        let mut segments = Vec::new();
        for segment in header.program_headers(endian, &cache)? {
            if segment.p_type(endian) == elf::PT_LOAD {
                segments.push(Segment {
                    address: segment.p_vaddr(endian),
                    offset: segment.p_offset(endian),
                    size: segment.p_filesz(endian),
                    executable: segment.p_flags(endian).contains(elf::PF_X),
                });
            } else if build_id.is_empty() {
                build_id = build_id_of(endian, segment, &cache).unwrap_or_default();
            }
        }
        Ok(Binary {
            path: path.to_owned(),
            build_id,
            entry: header.e_entry(endian),
            // A file may have lost its section table and still run.
            sections: sections_of(endian, header, &cache).unwrap_or_default(),
            segments,
            length: metadata.len(),
            file,
        })
    }

    /// The section of that name, if it has contents.
    pub(crate) fn section(&self, name: &str) -> Option<&Section> {
        let mut sections = self.sections.iter();
        sections.find(|section| section.name == name.as_bytes() && section.size > 0)
    }

    /// The first section of that kind, if it has contents.
    pub(crate) fn section_of_kind(&self, kind: elf::SectionType) -> Option<&Section> {
        let mut sections = self.sections.iter();
        sections.find(|section| section.kind == kind && section.size > 0)
    }

    /// The sections of that kind that have contents.
    pub(crate) fn sections_of_kind(
        &self,
        kind: elf::SectionType,
    ) -> impl Iterator<Item = &Section> {
        let sections = self.sections.iter();
        sections.filter(move |section| section.kind == kind && section.size > 0)
    }

    /// The sections of machine code that have contents, linkage tables included.
    pub(crate) fn code_sections(&self) -> impl Iterator<Item = &Section> {
        let sections = self.sections.iter();
        sections.filter(|section| section.executable && section.size > 0)
    }

    /// The section of that number.
    pub(crate) fn section_at(&self, index: u32) -> Option<&Section> {
        self.sections.iter().find(|section| section.index == index)
    }

    /// The whole contents as they stand in the file.
    pub(crate) fn contents(&self, section: &Section) -> Option<Vec<u8>> {
        self.read(section.offset, section.size)
    }

    /// The text at `offset` in a string table, up to its zero byte.
    pub(crate) fn text(&self, strings: &Section, offset: u64) -> Option<Vec<u8>> {
        const STEP: u64 = 256;
        const LIMIT: usize = 64 * 1024;
        let mut text = Vec::new();
        let mut offset = offset;
        while text.len() < LIMIT {
            let length = strings.size.checked_sub(offset)?.min(STEP);
            let piece = self.read(strings.offset.checked_add(offset)?, length)?;
            match piece.iter().position(|byte| *byte == 0) {
                Some(end) => {
                    text.extend_from_slice(&piece[..end]);
                    return Some(text);
                }
                None if piece.is_empty() => return None,
                None => text.extend_from_slice(&piece),
            }
            offset += length;
        }
        None
    }

    /// Machine code from `address` on, at most `length` bytes; `None` where no code is.
    pub(crate) fn code(&self, address: u64, length: u64) -> Option<Vec<u8>> {
        let segment = self.code_segment(address)?;
        let skip = address - segment.address;
        let length = length.min(segment.size - skip);
        self.read(segment.offset.checked_add(skip)?, length)
    }

    /// Whether machine code is at the address.
    pub(crate) fn is_code(&self, address: u64) -> bool {
        self.code_segment(address).is_some()
    }

    /// Shows all bytes of the file to `each`, in pieces; `None` where they cannot be read.
    pub(crate) fn for_each_piece(&self, mut each: impl FnMut(&[u8])) -> Option<()> {
        let mut buffer = vec![0; 1 << 16];
        let mut offset = 0;
        loop {
            match self.file.read_at(&mut buffer, offset).ok()? {
                0 => return Some(()),
                count => {
                    each(&buffer[..count]);
                    offset += count as u64;
                }
            }
        }
    }

    fn code_segment(&self, address: u64) -> Option<&Segment> {
        self.segments.iter().find(|segment| {
            segment.executable
                && address
                    .checked_sub(segment.address)
                    .is_some_and(|skip| skip < segment.size)
        })
    }

    fn read(&self, offset: u64, length: u64) -> Option<Vec<u8>> {
        // Checked before memory is asked for: sizes in a damaged file can be anything.
        if offset.checked_add(length)? > self.length {
            return None;
        }
        let mut bytes = vec![0; usize::try_from(length).ok()?];
        self.file.read_exact_at(&mut bytes, offset).ok()?;
        Some(bytes)
    }
}

fn build_id_of<'data, R: ReadRef<'data>>(
    endian: LittleEndian,
    segment: &ProgramHeader64<LittleEndian>,
    data: R,
) -> Option<Vec<u8>> {
    let mut notes = segment.notes(endian, data).ok()??;
    while let Ok(Some(note)) = notes.next() {
        if note.name() == elf::ELF_NOTE_GNU && note.n_type(endian) == elf::NT_GNU_BUILD_ID {
            return Some(note.desc().to_owned());
        }
    }
    None
}

fn sections_of<'data, R: ReadRef<'data>>(
    endian: LittleEndian,
    header: &FileHeader64<LittleEndian>,
    data: R,
) -> Option<Vec<Section>> {
    let table = header.sections(endian, data).ok()?;
    let mut sections = Vec::new();
    for (index, section) in table.enumerate() {
        if let Some((offset, size)) = section.file_range(endian) {
            let name = table.section_name(endian, section).unwrap_or_default();
            sections.push(Section {
                name: name.to_owned(),
                kind: section.sh_type(endian),
                address: section.sh_addr(endian),
                offset,
                size,
                link: section.sh_link(endian),
                index: u32::try_from(index.0).ok()?,
                executable: section.sh_flags(endian).contains(elf::SHF_EXECINSTR),
            });
        }
    }
    Some(sections)
}
