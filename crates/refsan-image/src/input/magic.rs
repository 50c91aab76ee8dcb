//! What a file is, by its first bytes.

use crate::macho;

/// How many bytes tell: the tar magic stands at 257.
pub(super) const HEAD: usize = 512;

/// The kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Binary,
    Zip,
    Gzip,
    Tar,
    OtherArchive(&'static str),
    Other,
}

impl Kind {
    pub(super) fn of(bytes: &[u8]) -> Self {
        match bytes {
            [0x7f, b'E', b'L', b'F', ..]
            | [0xcf | 0xce, 0xfa, 0xed, 0xfe, ..]
            | [0xfe, 0xed, 0xfa, 0xcf | 0xce, ..] => Self::Binary,
            [b'M', b'Z', ..] => Self::Binary,
            [b'P', b'K', 3, 4, ..] | [b'P', b'K', 5, 6, ..] => Self::Zip,
            [0x1f, 0x8b, ..] => Self::Gzip,
            [b'B', b'Z', b'h', ..] => Self::OtherArchive("bzip2"),
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Self::OtherArchive("xz"),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Self::OtherArchive("zstd"),
            _ if macho::is_fat(bytes) => Self::Binary,
            _ if bytes.get(257..262) == Some(b"ustar") => Self::Tar,
            _ => Self::Other,
        }
    }
}

/// Whether a name promises a binary that the dynamic linker loads.
pub(super) fn is_named_like_binary(name: &str) -> bool {
    let file = name.rsplit('/').next().unwrap_or(name);
    let lower = file.to_ascii_lowercase();
    [".so", ".pyd", ".dylib", ".dll"]
        .iter()
        .any(|ending| lower.ends_with(ending))
        || lower.contains(".so.")
}
