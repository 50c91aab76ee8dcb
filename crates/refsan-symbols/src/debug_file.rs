//! Finds the file that holds a binary's debug information, which may be the binary itself.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use addr2line::Loader;

use crate::binary::Binary;

/// The separate debug file of a binary: by its build id, else by the name that it gives.
pub(crate) fn separate(binary: &Binary, directories: &[PathBuf]) -> Option<Binary> {
    let by_build_id = by_build_id(&binary.build_id, directories);
    by_build_id.or_else(|| by_link(binary, directories))
}

/// Whether the file holds debug information.
pub(crate) fn has_debug_information(binary: &Binary) -> bool {
    let mut names = [".debug_info", ".zdebug_info"].iter();
    names.any(|name| binary.section(name).is_some())
}

/// Loads the debug information in the file; `None` where it has none, or none that can be read.
pub(crate) fn load(binary: &Binary, directories: &[PathBuf]) -> Option<Loader> {
    if !has_debug_information(binary) {
        return None;
    }
    let shared = shared_part(binary, directories);
    Loader::new_with_sup(&binary.path, shared).ok()
}

fn by_build_id(build_id: &[u8], directories: &[PathBuf]) -> Option<Binary> {
    let (first, rest) = build_id
        .split_first()
        .filter(|(_, rest)| !rest.is_empty())?;
    let name = format!(".build-id/{first:02x}/{}.debug", hexadecimal(rest));
    let candidates = directories.iter().map(|directory| directory.join(&name));
    candidates
        .filter_map(|path| Binary::open(&path).ok())
        .find(|file| file.build_id == build_id)
}

fn by_link(binary: &Binary, directories: &[PathBuf]) -> Option<Binary> {
    let link = binary.contents(binary.section(".gnu_debuglink")?)?;
    let (name, rest) = split_text(&link)?;
    let padding = (name.len() + 1).next_multiple_of(4) - (name.len() + 1);
    let checksum = u32::from_le_bytes(rest.get(padding..padding + 4)?.try_into().ok()?);
    let name = OsStr::from_bytes(name);
    let parent = binary.path.parent()?;
    let beside = [parent.join(name), parent.join(".debug").join(name)];
    let elsewhere = directories.iter().filter_map(|directory| {
        let parent = parent.strip_prefix("/").ok()?;
        Some(directory.join(parent).join(name))
    });
    let mut candidates = beside.into_iter().chain(elsewhere);
    candidates.find_map(|path| {
        let file = (path != binary.path).then(|| Binary::open(&path).ok())??;
        let is_same = if binary.build_id.is_empty() || file.build_id.is_empty() {
            checksum_of(&file) == Some(checksum)
        } else {
            binary.build_id == file.build_id
        };
        is_same.then_some(file)
    })
}

/// Distributions move what several debug files have in common into one file.
fn shared_part(binary: &Binary, directories: &[PathBuf]) -> Option<PathBuf> {
    let link = binary.contents(binary.section(".gnu_debugaltlink")?)?;
    let (name, build_id) = split_text(&link)?;
    let place = std::fs::canonicalize(&binary.path).ok()?;
    let path = place.parent()?.join(Path::new(OsStr::from_bytes(name)));
    let file = Binary::open(&path)
        .ok()
        .filter(|file| file.build_id == build_id);
    file.or_else(|| by_build_id(build_id, directories))
        .map(|file| file.path)
}

fn split_text(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = bytes.iter().position(|byte| *byte == 0)?;
    Some((&bytes[..end], &bytes[end + 1..]))
}

/// The checksum that a `.gnu_debuglink` carries: CRC-32 of the whole file.
fn checksum_of(file: &Binary) -> Option<u32> {
    let mut crc = !0_u32;
    file.for_each_piece(|piece| {
        for byte in piece {
            crc ^= u32::from(*byte);
            for _ in 0..8 {
                crc = (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg());
            }
        }
    })?;
    Some(!crc)
}

/// The bytes as hexadecimal digits.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
