//! One architecture slice of a binary, with all that the audit asks of it.

use crate::elf;
use crate::error::ImageError;
use crate::functions::FunctionRange;
use crate::layout::Section;
use crate::links::{self, Import};
use crate::macho;
use crate::parts::{Architecture, CompactVariable, DebugHints, Export, Format, Parts};
use crate::pe;
use crate::stubs;
use crate::symbols::Symbol;
use crate::target::Target;
use crate::thread_local::{ThreadLocalSlot, ThreadLocalVariable};

/// A binary, or one architecture slice of it, over borrowed bytes.
///
/// Addresses are those of the file as shipped: `p_vaddr` in ELF, vmaddr in Mach-O, and in PE
/// relative to the image base. Names are C names: Mach-O's leading underscore is taken off.
#[derive(Debug)]
pub struct Image<'d> {
    pub(crate) parts: Parts<'d>,
}

impl<'d> Image<'d> {
    /// Reads every supported architecture slice of a binary.
    ///
    /// A damaged table costs what it describes and is named in [`problems`](Self::problems).
    ///
    /// # Errors
    /// If the bytes are no binary, hold no supported code, or their headers are damaged.
    pub fn parse_all(bytes: &'d [u8]) -> Result<Vec<Self>, ImageError> {
        let image = |parts| vec![Self { parts }];
        match bytes {
            [0xca, 0xfe, 0xba, 0xbe | 0xbf, ..] if macho::is_fat(bytes) => Self::parse_fat(bytes),
            [0xcf | 0xce, 0xfa, 0xed, 0xfe, ..] | [0xfe, 0xed, 0xfa, 0xcf | 0xce, ..] => {
                macho::parse(bytes).map(image)
            }
            [0x7f, b'E', b'L', b'F', ..] => elf::parse(bytes).map(image),
            [b'M', b'Z', ..] => pe::parse(bytes).map(image),
            _ => Err(ImageError::NotABinary {
                found: bytes[..bytes.len().min(8)].to_vec(),
            }),
        }
    }

    /// Slices that cannot be read are named in the problems of the others; if there are no
    /// others, the first one's error counts.
    fn parse_fat(bytes: &'d [u8]) -> Result<Vec<Self>, ImageError> {
        let mut images = Vec::new();
        let mut errors = Vec::new();
        for slice in macho::slices(bytes)? {
            match macho::parse(slice) {
                Ok(parts) => images.push(Self { parts }),
                Err(error) => errors.push(error),
            }
        }
        match (images.first_mut(), errors.first()) {
            (Some(first), _) => {
                for error in errors {
                    first
                        .parts
                        .problem(format!("a slice was left out: {error}"));
                }
                Ok(images)
            }
            (None, Some(error)) => Err(error.clone()),
            (None, None) => Err(ImageError::malformed("a slice in a fat file", 8)),
        }
    }

    /// The bytes of this slice.
    #[must_use]
    pub fn data(&self) -> &'d [u8] {
        self.parts.data
    }

    /// The container format.
    #[must_use]
    pub fn format(&self) -> Format {
        self.parts.format
    }

    /// The processor.
    #[must_use]
    pub fn architecture(&self) -> Architecture {
        self.parts.architecture
    }

    /// What could not be read, one sentence each: the image is partial if there is any.
    #[must_use]
    pub fn problems(&self) -> &[String] {
        &self.parts.problems
    }

    /// The name the file gives itself (`DT_SONAME`, install name, PE export name).
    #[must_use]
    pub fn soname(&self) -> Option<&'d str> {
        self.parts.soname
    }

    /// The libraries it asks for, in the order of the file.
    #[must_use]
    pub fn libraries(&self) -> &[&'d str] {
        &self.parts.libraries
    }

    /// The names of the Python modules it initializes, from its `PyInit_` exports.
    pub fn python_modules(&self) -> impl Iterator<Item = &str> + '_ {
        self.parts
            .exports
            .iter()
            .filter_map(|export| export.name.strip_prefix("PyInit_"))
    }

    /// Where its debug information is.
    #[must_use]
    pub fn debug_hints(&self) -> &DebugHints<'d> {
        &self.parts.debug
    }

    /// The ELF build id, Mach-O UUID or PE CodeView GUID.
    #[must_use]
    pub fn build_id(&self) -> Option<&'d [u8]> {
        self.parts.debug.build_id
    }

    /// The loaded sections, by address. Empty if the file has none.
    #[must_use]
    pub fn sections(&self) -> &[Section<'d>] {
        &self.parts.sections
    }

    /// The function ranges known from the file: sorted and disjoint.
    #[must_use]
    pub fn functions(&self) -> &[FunctionRange] {
        &self.parts.functions
    }

    /// The function that holds the address.
    #[must_use]
    pub fn function_covering(&self, address: u64) -> Option<FunctionRange> {
        let after = self
            .parts
            .functions
            .partition_point(|function| function.start <= address);
        let function = self.parts.functions.get(after.checked_sub(1)?)?;
        function.contains(address).then_some(*function)
    }

    /// The function that starts at the address.
    #[must_use]
    pub fn function_at(&self, address: u64) -> Option<FunctionRange> {
        self.function_covering(address)
            .filter(|function| function.start == address)
    }

    /// The code that may belong to a call target: from there to the end of the known function,
    /// or in a gap between known functions to the next one or the end of the code. Leaf
    /// functions of PE files have no unwind entry and are found only so.
    #[must_use]
    pub fn code_range_from(&self, address: u64) -> Option<FunctionRange> {
        if let Some(function) = self.function_covering(address) {
            return Some(FunctionRange {
                start: address,
                end: function.end,
            });
        }
        let region = self.parts.code_region_end(address)?;
        let after = self
            .parts
            .functions
            .partition_point(|function| function.start <= address);
        let next = self.parts.functions.get(after).map(|next| next.start);
        Some(FunctionRange {
            start: address,
            end: next.map_or(region, |next| next.min(region)),
        })
    }

    /// The defined symbols, by address.
    #[must_use]
    pub fn symbols(&self) -> &[Symbol<'d>] {
        self.parts.symbols.all()
    }

    /// The symbols of thread-local variables, by displacement.
    #[must_use]
    pub fn thread_local_symbols(&self) -> &[Symbol<'d>] {
        &self.parts.thread_local_symbols
    }

    /// The name of the symbol at exactly this address.
    #[must_use]
    pub fn symbol_at(&self, address: u64) -> Option<&'d str> {
        self.parts.symbols.at(address).map(|symbol| symbol.name)
    }

    /// The symbol whose size covers the address; Mach-O and PE symbols have no size and cover
    /// the function that they begin.
    #[must_use]
    pub fn symbol_covering(&self, address: u64) -> Option<&'d str> {
        self.parts
            .symbols
            .covering(address)
            .map(|symbol| symbol.name)
            .or_else(|| self.symbol_at(self.function_covering(address)?.start))
    }

    /// Bytes of the file at an address. `None` outside the file and in zero-filled memory.
    #[must_use]
    pub fn bytes(&self, address: u64, length: u64) -> Option<&'d [u8]> {
        self.parts.layout.bytes(address, length)
    }

    /// Like [`bytes`](Self::bytes), and only where code may run.
    #[must_use]
    pub fn code(&self, address: u64, length: u64) -> Option<&'d [u8]> {
        self.is_executable(address)
            .then(|| self.bytes(address, length))?
    }

    /// Whether the address may be executed.
    #[must_use]
    pub fn is_executable(&self, address: u64) -> bool {
        self.parts.layout.is_executable(address)
    }

    /// Whether the address belongs to the image.
    #[must_use]
    pub fn contains(&self, address: u64) -> bool {
        self.parts.layout.contains(address)
    }

    /// The zero-terminated text at an address, if it is UTF-8 and at most `limit` bytes long.
    #[must_use]
    pub fn text(&self, address: u64, limit: usize) -> Option<&'d str> {
        self.parts.layout.text_at(address, limit)
    }

    /// What the word at `address` points at once the file is loaded, wherever it lies.
    #[must_use]
    pub fn pointer_at(&self, address: u64) -> Option<Target<'_>> {
        links::resolve(self.parts.links.at(address)?, &self.parts.imports)
    }

    /// Every word that the dynamic linker fills in, by address.
    pub fn linked_words(&self) -> impl Iterator<Item = (u64, Target<'_>)> + '_ {
        self.parts.links.words().iter().filter_map(|word| {
            let target = links::resolve(word.link, &self.parts.imports)?;
            Some((word.address, target))
        })
    }

    /// What a linkage slot (GOT, IAT, `__got`, `__la_symbol_ptr`, relocated read-only data)
    /// holds: a word that does not change after loading, so that a load, call or jump through
    /// it has one target. A name that the file defines itself is local.
    #[must_use]
    pub fn target_of_slot(&self, address: u64) -> Option<Target<'_>> {
        let after = self
            .parts
            .constant
            .partition_point(|range| range.start <= address);
        let range = self.parts.constant.get(after.checked_sub(1)?)?;
        range.contains(&address).then(|| self.pointer_at(address))?
    }

    /// Where a linkage stub (PLT entry, `__stubs` entry, import thunk) at `address` jumps to.
    /// A function that does nothing but jump through a slot is one as well.
    #[must_use]
    pub fn target_of_stub(&self, address: u64) -> Option<Target<'_>> {
        if !self.is_executable(address) {
            return None;
        }
        let code = self.parts.layout.bytes_from(address)?;
        let slot = match self.parts.architecture {
            Architecture::X86_64 => stubs::x86_64_slot(code, address),
            Architecture::Aarch64 => stubs::aarch64_slot(code, address),
        }?;
        self.target_of_slot(slot)
    }

    /// The addresses of the linked words that point at `target`.
    pub fn pointers_to(&self, target: u64) -> impl Iterator<Item = u64> + '_ {
        self.parts.links.pointers_to(target)
    }

    /// The symbols taken from other files.
    #[must_use]
    pub fn imports(&self) -> &[Import<'d>] {
        &self.parts.imports
    }

    /// The symbols that other files may use, by name.
    #[must_use]
    pub fn exports(&self) -> &[Export<'d>] {
        &self.parts.exports
    }

    /// The address of an export.
    #[must_use]
    pub fn export(&self, name: &str) -> Option<u64> {
        let index = self
            .parts
            .exports
            .binary_search_by(|export| (*export.name).cmp(name))
            .ok()?;
        Some(self.parts.exports[index].address)
    }

    /// The functions that run when the file is loaded, in the order of the file.
    #[must_use]
    pub fn initializers(&self) -> &[u64] {
        &self.parts.initializers
    }

    /// The functions that the file lists to run when it is unloaded or the process exits.
    #[must_use]
    pub fn finalizers(&self) -> &[u64] {
        &self.parts.finalizers
    }

    /// PE: the functions that run when a thread starts or ends.
    #[must_use]
    pub fn thread_callbacks(&self) -> &[u64] {
        &self.parts.thread_callbacks
    }

    /// The words through which code finds thread-local variables, by address.
    pub fn thread_locals(&self) -> impl Iterator<Item = ThreadLocalSlot<'_>> + '_ {
        self.parts.thread_locals.iter().map(|slot| ThreadLocalSlot {
            address: slot.address,
            model: slot.model,
            variable: match slot.variable {
                CompactVariable::Own(displacement) => ThreadLocalVariable::Own(displacement),
                CompactVariable::Import(index) => ThreadLocalVariable::Import(
                    self.parts
                        .imports
                        .get(index as usize)
                        .map_or("", |import| &import.name),
                ),
            },
        })
    }

    /// The thread-local slot at an address.
    #[must_use]
    pub fn thread_local_at(&self, address: u64) -> Option<ThreadLocalSlot<'_>> {
        let index = self
            .parts
            .thread_locals
            .binary_search_by_key(&address, |slot| slot.address)
            .ok()?;
        self.thread_locals().nth(index)
    }
}
