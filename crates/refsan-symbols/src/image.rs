//! One mapped binary with what is known about its functions, each part read when first needed.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use addr2line::Loader;
use refsan_model::SymbolQuality;

use crate::binary::{Binary, BinaryError};
use crate::debug_file;
use crate::demangle::demangle;
use crate::function_ranges::{FunctionRange, UnwindSections};
use crate::glibc::{self, Landmark};
use crate::imports::Imports;
use crate::symbol_table::{SymbolTable, TableKind};
use crate::tail_callers::TailCallers;

/// What a signal handler returns to, by its name in the C library.
const SIGNAL_RETURN: &str = "__restore_rt";

/// A function, or one that was inlined, at an address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) function: Option<String>,
    pub(crate) file: Option<String>,
    pub(crate) line: Option<u32>,
}

/// A binary. All addresses are the file's own.
pub(crate) struct Image {
    pub(crate) binary: Binary,
    debug_directories: Vec<PathBuf>,
    unwind_sections: OnceCell<Option<UnwindSections>>,
    full_table: OnceCell<Option<SymbolTable>>,
    dynamic_table: OnceCell<Option<SymbolTable>>,
    separate: OnceCell<Option<Separate>>,
    debug: OnceCell<Option<Loader>>,
    landmarks: OnceCell<Vec<Landmark>>,
    imports: OnceCell<Imports>,
    pub(crate) tail_callers: TailCallers,
}

/// A debug file beside the binary.
struct Separate {
    binary: Binary,
    table: Option<SymbolTable>,
}

impl Image {
    pub(crate) fn open(path: &Path, debug_directories: &[PathBuf]) -> Result<Image, BinaryError> {
        Ok(Image {
            binary: Binary::open(path)?,
            debug_directories: debug_directories.to_owned(),
            unwind_sections: OnceCell::new(),
            full_table: OnceCell::new(),
            dynamic_table: OnceCell::new(),
            separate: OnceCell::new(),
            debug: OnceCell::new(),
            landmarks: OnceCell::new(),
            imports: OnceCell::new(),
            tail_callers: TailCallers::default(),
        })
    }

    pub(crate) fn unwind_sections(&self) -> Option<&UnwindSections> {
        let read = || UnwindSections::read(&self.binary);
        self.unwind_sections.get_or_init(read).as_ref()
    }

    pub(crate) fn dynamic_table(&self) -> Option<&SymbolTable> {
        let read = || SymbolTable::read(&self.binary, TableKind::Dynamic);
        self.dynamic_table.get_or_init(read).as_ref()
    }

    pub(crate) fn landmarks(&self) -> &[Landmark] {
        self.landmarks.get_or_init(|| glibc::landmarks(self))
    }

    pub(crate) fn imports(&self) -> &Imports {
        self.imports.get_or_init(|| Imports::read(&self.binary))
    }

    /// The function, or part of one, that includes an address: by the unwind information, else by
    /// the symbols.
    pub(crate) fn function_range(&self, address: u64) -> Option<FunctionRange> {
        let sections = self.unwind_sections();
        let entry = sections.and_then(|sections| sections.covering(address));
        entry
            .map(|entry| entry.range())
            .or_else(|| self.full_table()?.range_covering(address))
            .or_else(|| self.separate_table()?.1.range_covering(address))
            .or_else(|| self.dynamic_table()?.range_covering(address))
    }

    /// The functions at an address, inlined ones first; at least one, perhaps without a name.
    pub(crate) fn places(&self, address: u64) -> Vec<Place> {
        let mut places = self.debug_places(address);
        if places.is_empty() {
            places.push(Place::default());
        }
        if let Some(outermost) = places.last_mut() {
            // Debug information may hold the bare name only, where the symbol says it all.
            let is_bare = |name: &String| !name.starts_with("_Z") && !name.starts_with("_R");
            if outermost.function.as_ref().is_none_or(is_bare) {
                let symbol = self.symbol(address);
                let is_better = |name: &String| outermost.function.is_none() || !is_bare(name);
                if let Some(name) = symbol.filter(is_better) {
                    outermost.function = Some(name);
                }
            }
        }
        for place in &mut places {
            place.function = place.function.as_deref().map(demangle);
        }
        places
    }

    /// Whether the code at an address is a part that the compiler split off its function.
    pub(crate) fn is_split_off(&self, address: u64) -> bool {
        let symbol = self.symbol(address);
        symbol.is_some_and(|name| name.split('.').skip(1).any(|part| part == "cold"))
    }

    pub(crate) fn quality(&self) -> SymbolQuality {
        // To load the information takes seconds where there is much of it.
        let separate = self.separate().map(|separate| &separate.binary);
        let mut binaries = std::iter::once(&self.binary).chain(separate);
        if binaries.any(debug_file::has_debug_information) {
            SymbolQuality::Dwarf
        } else if self.full_table().is_some() || self.separate_table().is_some() {
            SymbolQuality::Names
        } else {
            SymbolQuality::None
        }
    }

    fn is_signal_return(&self, address: u64) -> bool {
        let entry = self
            .unwind_sections()
            .and_then(|sections| sections.covering(address));
        entry.is_some_and(|entry| entry.is_signal_frame())
    }

    fn full_table(&self) -> Option<&SymbolTable> {
        let read = || SymbolTable::read(&self.binary, TableKind::Full);
        self.full_table.get_or_init(read).as_ref()
    }

    fn separate(&self) -> Option<&Separate> {
        let find = || {
            let binary = debug_file::separate(&self.binary, &self.debug_directories)?;
            let table = SymbolTable::read(&binary, TableKind::Full);
            Some(Separate { binary, table })
        };
        self.separate.get_or_init(find).as_ref()
    }

    fn separate_table(&self) -> Option<(&Binary, &SymbolTable)> {
        let separate = self.separate()?;
        Some((&separate.binary, separate.table.as_ref()?))
    }

    fn debug(&self) -> Option<&Loader> {
        let load = || {
            let own = debug_file::load(&self.binary, &self.debug_directories);
            own.or_else(|| debug_file::load(&self.separate()?.binary, &self.debug_directories))
        };
        self.debug.get_or_init(load).as_ref()
    }

    fn debug_places(&self, address: u64) -> Vec<Place> {
        let mut places = Vec::new();
        let Some(mut frames) = self
            .debug()
            .and_then(|debug| debug.find_frames(address).ok())
        else {
            return places;
        };
        while let Ok(Some(frame)) = frames.next() {
            let name = frame
                .function
                .as_ref()
                .and_then(|name| name.raw_name().ok());
            let location = frame.location.as_ref();
            places.push(Place {
                function: name.map(|name| name.into_owned()),
                file: location.and_then(|place| place.file).map(str::to_owned),
                line: location
                    .and_then(|place| place.line)
                    .filter(|line| *line > 0),
            });
        }
        places
    }

    /// The name of the function, by the binary's own table, then by its debug file's, then by what
    /// it exports, then by what is known about the C library.
    fn symbol(&self, address: u64) -> Option<String> {
        let own = || self.full_table()?.name_covering(&self.binary, address);
        let separate = || {
            let (binary, table) = self.separate_table()?;
            table.name_covering(binary, address)
        };
        let exported = || self.dynamic_table()?.name_covering(&self.binary, address);
        own()
            .or_else(separate)
            .or_else(exported)
            .or_else(|| glibc::name_at(self.landmarks(), address).map(str::to_owned))
            .or_else(|| {
                self.is_signal_return(address)
                    .then(|| SIGNAL_RETURN.to_owned())
            })
    }
}
