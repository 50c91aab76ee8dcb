//! What the parsers of the three formats hand to [`Image`](crate::Image).

use crate::functions::FunctionRange;
use crate::layout::{Layout, Section};
use crate::links::{Import, Links};
use crate::names::NameReader;
use crate::symbols::{Symbol, SymbolTable};
use crate::thread_local::ThreadLocalModel;
use std::borrow::Cow;
use std::ops::Range;

/// The container format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// Linux and other Unix systems.
    Elf,
    /// macOS.
    MachO,
    /// Windows.
    Pe,
}

/// The processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Architecture {
    /// 64-bit x86.
    X86_64,
    /// 64-bit ARM, little-endian.
    Aarch64,
}

/// A symbol that other files may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Export<'d> {
    /// Its C name.
    pub name: Cow<'d, str>,
    /// Its address.
    pub address: u64,
}

/// Where debug information of this file is to be found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DebugHints<'d> {
    /// ELF build id, Mach-O UUID or PE CodeView GUID.
    pub build_id: Option<&'d [u8]>,
    /// File name of the separate debug file (`.gnu_debuglink`, PDB path).
    pub separate_file: Option<&'d str>,
    /// DWARF is in the file itself.
    pub has_dwarf: bool,
    /// The file has more than its dynamic symbols.
    pub has_local_symbols: bool,
}

/// A thread-local slot in compact form.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CompactThreadLocal {
    pub(crate) address: u64,
    pub(crate) model: ThreadLocalModel,
    pub(crate) variable: CompactVariable,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum CompactVariable {
    Own(u64),
    Import(u32),
}

/// All that is known of an image.
#[derive(Debug)]
pub(crate) struct Parts<'d> {
    pub(crate) data: &'d [u8],
    pub(crate) format: Format,
    pub(crate) architecture: Architecture,
    pub(crate) layout: Layout<'d>,
    pub(crate) sections: Vec<Section<'d>>,
    pub(crate) functions: Vec<FunctionRange>,
    pub(crate) symbols: SymbolTable<'d>,
    pub(crate) thread_local_symbols: Vec<Symbol<'d>>,
    pub(crate) imports: Vec<Import<'d>>,
    pub(crate) exports: Vec<Export<'d>>,
    pub(crate) links: Links,
    /// Words that do not change once the file is loaded: a load from them has one result.
    pub(crate) constant: Vec<Range<u64>>,
    pub(crate) initializers: Vec<u64>,
    pub(crate) finalizers: Vec<u64>,
    pub(crate) thread_callbacks: Vec<u64>,
    pub(crate) thread_locals: Vec<CompactThreadLocal>,
    pub(crate) libraries: Vec<&'d str>,
    pub(crate) soname: Option<&'d str>,
    pub(crate) debug: DebugHints<'d>,
    pub(crate) problems: Vec<String>,
    pub(crate) names: NameReader,
}

impl<'d> Parts<'d> {
    pub(crate) fn new(data: &'d [u8], format: Format, architecture: Architecture) -> Self {
        Self {
            data,
            format,
            architecture,
            layout: Layout::default(),
            sections: Vec::new(),
            functions: Vec::new(),
            symbols: SymbolTable::default(),
            thread_local_symbols: Vec::new(),
            imports: Vec::new(),
            exports: Vec::new(),
            links: Links::default(),
            constant: Vec::new(),
            initializers: Vec::new(),
            finalizers: Vec::new(),
            thread_callbacks: Vec::new(),
            thread_locals: Vec::new(),
            libraries: Vec::new(),
            soname: None,
            debug: DebugHints::default(),
            problems: Vec::new(),
            names: NameReader::new(data.len()),
        }
    }

    /// Notes once that a part of the file could not be read.
    pub(crate) fn problem(&mut self, text: impl Into<String>) {
        let text = text.into();
        if !self.problems.contains(&text) {
            self.problems.push(text);
        }
    }

    /// The end of the region in which a function that starts here may lie: its executable
    /// section, or where there are no sections, its segment.
    pub(crate) fn code_region_end(&self, address: u64) -> Option<u64> {
        if self.sections.is_empty() {
            return self
                .layout
                .segment_end(address)
                .filter(|_| self.layout.is_executable(address));
        }
        self.section_covering(address)
            .filter(|section| section.executable)
            .map(Section::end)
    }

    /// The section that holds the address.
    pub(crate) fn section_covering(&self, address: u64) -> Option<&Section<'d>> {
        let after = self
            .sections
            .partition_point(|section| section.address <= address);
        // Empty sections may share addresses with what follows them.
        self.sections[..after]
            .iter()
            .rev()
            .take(4)
            .find(|section| section.contains(address))
    }

    /// The name at an address.
    pub(crate) fn name_at(&mut self, address: u64) -> Option<&'d str> {
        self.names.read(self.layout.bytes_from(address)?)
    }

    /// The section of that name.
    pub(crate) fn section(&self, name: &str) -> Option<&Section<'d>> {
        self.sections.iter().find(|section| section.name == name)
    }

    /// Puts sections and exports into the order that the look-ups need.
    pub(crate) fn sort(&mut self) {
        self.sections.sort_by_key(|section| section.address);
        self.exports
            .sort_unstable_by(|a, b| (&a.name, a.address).cmp(&(&b.name, b.address)));
        self.exports.dedup();
        self.constant.retain(|range| !range.is_empty());
        self.constant.sort_by_key(|range| range.start);
        // Merged, so that one binary search answers.
        let mut merged: Vec<Range<u64>> = Vec::with_capacity(self.constant.len());
        for range in self.constant.drain(..) {
            match merged.last_mut() {
                Some(last) if last.end >= range.start => last.end = last.end.max(range.end),
                _ => merged.push(range),
            }
        }
        self.constant = merged;
        self.thread_locals.sort_by_key(|slot| slot.address);
        if self.names.is_exhausted() {
            self.problem("the names add up to many times the file: some were left out");
        }
    }
}
