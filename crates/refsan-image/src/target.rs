//! What a pointer, a slot or a stub leads to.

/// Where a linked word or a linkage stub leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target<'a> {
    /// A symbol of another file, by its C name.
    Import(&'a str),
    /// An address of this image.
    Local(u64),
}

impl<'a> Target<'a> {
    /// The address, if the target lies in this image.
    #[must_use]
    pub fn local(self) -> Option<u64> {
        match self {
            Self::Local(address) => Some(address),
            Self::Import(_) => None,
        }
    }

    /// The name, if the target is a symbol of another file.
    #[must_use]
    pub fn import(self) -> Option<&'a str> {
        match self {
            Self::Import(name) => Some(name),
            Self::Local(_) => None,
        }
    }
}
