//! The symbols that a file still has, sorted by address.

/// What a symbol names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SymbolKind {
    /// Code.
    Function,
    /// Data.
    Data,
    /// The file does not say.
    Unknown,
}

/// A defined symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Symbol<'d> {
    /// Its C name: without the underscore that Mach-O puts before it.
    pub name: &'d str,
    /// Its address; for thread-local symbols the displacement in the module's block.
    pub address: u64,
    /// Size in bytes, 0 where the format or the file does not say.
    pub size: u64,
    /// What it names.
    pub kind: SymbolKind,
    /// Visible to other files.
    pub global: bool,
}

/// Symbols by address; of several at one address the one to show comes first.
#[derive(Debug, Default)]
pub(crate) struct SymbolTable<'d> {
    symbols: Vec<Symbol<'d>>,
}

/// How far back a symbol is looked for that covers an address: aliases and symbols inside others.
const COVERING_STEPS: usize = 32;

impl<'d> SymbolTable<'d> {
    pub(crate) fn new(mut symbols: Vec<Symbol<'d>>) -> Self {
        symbols.sort_unstable_by(|a, b| {
            (a.address, a.kind, !a.global, a.name).cmp(&(b.address, b.kind, !b.global, b.name))
        });
        symbols.dedup_by(|a, b| a.address == b.address && a.name == b.name);
        symbols.shrink_to_fit();
        Self { symbols }
    }

    pub(crate) fn all(&self) -> &[Symbol<'d>] {
        &self.symbols
    }

    /// The preferred symbol at exactly this address.
    pub(crate) fn at(&self, address: u64) -> Option<&Symbol<'d>> {
        let first = self
            .symbols
            .partition_point(|symbol| symbol.address < address);
        self.symbols
            .get(first)
            .filter(|symbol| symbol.address == address)
    }

    /// The nearest symbol whose size covers the address.
    pub(crate) fn covering(&self, address: u64) -> Option<&Symbol<'d>> {
        let after = self
            .symbols
            .partition_point(|symbol| symbol.address <= address);
        let covering = self.symbols[..after]
            .iter()
            .rev()
            .take(COVERING_STEPS)
            .find(|symbol| address - symbol.address < symbol.size.max(1))?;
        self.at(covering.address)
            .filter(|symbol| address - symbol.address < symbol.size.max(1))
            .or(Some(covering))
    }
}
