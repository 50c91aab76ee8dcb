//! Imports by name: symbol table, bind streams and fixups name the same ones again and again.

use crate::links::Import;
use std::borrow::Cow;
use std::collections::HashMap;

/// Imports, each name once.
#[derive(Debug, Default)]
pub(super) struct ImportTable<'d> {
    imports: Vec<Import<'d>>,
    indices: HashMap<&'d str, u32>,
}

impl<'d> ImportTable<'d> {
    /// The index of the import; the first library that is named counts.
    pub(super) fn index(&mut self, name: &'d str, library: Option<&'d str>, weak: bool) -> u32 {
        let next = u32::try_from(self.imports.len()).unwrap_or(u32::MAX);
        let index = *self.indices.entry(name).or_insert(next);
        if index == next {
            self.imports.push(Import {
                name: Cow::Borrowed(name),
                library,
                weak,
            });
        } else if let Some(import) = self.imports.get_mut(index as usize) {
            import.library = import.library.or(library);
        }
        index
    }

    pub(super) fn finish(self) -> Vec<Import<'d>> {
        self.imports
    }
}

/// The C name of a symbol: without the leading underscore.
pub(super) fn c_name(name: &str) -> &str {
    name.strip_prefix('_').unwrap_or(name)
}
