//! Fat files: several slices behind one big-endian header.

use crate::error::ImageError;
use object::macho::{FatArch32, FatArch64};
use object::read::macho::{FatArch, MachOFatFile};

/// Java class files have the same magic; their version number stands where the number of slices does.
const MOST_SLICES: u32 = 40;

/// Whether the bytes begin like a fat file.
pub(crate) fn is_fat(bytes: &[u8]) -> bool {
    let Some((magic, count)) = bytes.first_chunk::<8>().map(|head| {
        let [a, b, c, d, e, f, g, h] = *head;
        (
            u32::from_be_bytes([a, b, c, d]),
            u32::from_be_bytes([e, f, g, h]),
        )
    }) else {
        return false;
    };
    (magic == FatArch32::MAGIC || magic == FatArch64::MAGIC) && count < MOST_SLICES
}

/// The bytes of each slice.
pub(crate) fn slices(data: &[u8]) -> Result<Vec<&[u8]>, ImageError> {
    if let Ok(file) = MachOFatFile::<FatArch32>::parse(data) {
        return collect(data, file.arches());
    }
    let file = MachOFatFile::<FatArch64>::parse(data)
        .map_err(|error| ImageError::malformed(error.to_string(), 0))?;
    collect(data, file.arches())
}

fn collect<'d, Fat: FatArch>(data: &'d [u8], slices: &[Fat]) -> Result<Vec<&'d [u8]>, ImageError> {
    slices
        .iter()
        .map(|slice| {
            slice
                .data(data)
                .map_err(|_| ImageError::malformed("a slice of a fat file", slice.offset().into()))
        })
        .collect()
}
