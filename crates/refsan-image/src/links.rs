//! Every word of the image that the dynamic linker fills in, forward and backward.

use crate::target::Target;
use std::borrow::Cow;
use std::sync::OnceLock;

/// A symbol that the file takes from another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Import<'d> {
    /// Its C name, or `#N` for an import by ordinal.
    pub name: Cow<'d, str>,
    /// The library it comes from, where the format says so.
    pub library: Option<&'d str>,
    /// May stay unresolved.
    pub weak: bool,
}

/// The compact form of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Link {
    Import(u32),
    Local(u64),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct LinkedWord {
    pub(crate) address: u64,
    pub(crate) link: Link,
}

/// All linked words by address.
#[derive(Debug, Default)]
pub(crate) struct Links {
    words: Vec<LinkedWord>,
    /// Indices into `words` of those with a local target, sorted by target.
    by_target: OnceLock<Vec<u32>>,
}

impl Links {
    /// Of several words for one address the last one given counts.
    pub(crate) fn new(mut words: Vec<LinkedWord>) -> Self {
        words.reverse();
        words.sort_by_key(|word| word.address);
        words.dedup_by_key(|word| word.address);
        words.shrink_to_fit();
        Self {
            words,
            by_target: OnceLock::new(),
        }
    }

    pub(crate) fn words(&self) -> &[LinkedWord] {
        &self.words
    }

    pub(crate) fn at(&self, address: u64) -> Option<Link> {
        let index = self
            .words
            .binary_search_by_key(&address, |word| word.address)
            .ok()?;
        Some(self.words[index].link)
    }

    /// The addresses of the words that point at `target`.
    pub(crate) fn pointers_to(&self, target: u64) -> impl Iterator<Item = u64> + '_ {
        let by_target = self.by_target.get_or_init(|| {
            let mut indices: Vec<u32> = (0u32..)
                .zip(&self.words)
                .filter(|(_, word)| matches!(word.link, Link::Local(_)))
                .map(|(index, _)| index)
                .collect();
            indices.sort_by_key(|index| self.local_target(*index));
            indices
        });
        let first = by_target.partition_point(|index| self.local_target(*index) < target);
        by_target[first..]
            .iter()
            .take_while(move |index| self.local_target(**index) == target)
            .map(|index| self.words[*index as usize].address)
    }

    fn local_target(&self, index: u32) -> u64 {
        match self.words[index as usize].link {
            Link::Local(target) => target,
            Link::Import(_) => u64::MAX,
        }
    }
}

/// Resolves the compact form against the imports of the image.
pub(crate) fn resolve<'a>(link: Link, imports: &'a [Import<'_>]) -> Option<Target<'a>> {
    match link {
        Link::Local(address) => Some(Target::Local(address)),
        Link::Import(index) => imports
            .get(index as usize)
            .map(|import| Target::Import(&import.name)),
    }
}
