//! Function ranges from `.eh_frame`, which stripping leaves alone.

use crate::functions::FunctionRange;
use crate::layout::Section;
use crate::parts::Parts;
use gimli::{BaseAddresses, CieOrFde, EhFrame, EhFrameHdr, LittleEndian, UnwindSection};
use std::collections::HashMap;

/// `.plt`, `.plt.got`, `.plt.sec` and what other linkers may add.
const MOST_STUB_SECTIONS: usize = 8;

/// The ranges of all entries.
pub(super) fn ranges(parts: &mut Parts<'_>, header: Option<u64>) -> Vec<FunctionRange> {
    let Some((address, bytes)) = frame_bytes(parts, header) else {
        return Vec::new();
    };
    let mut section = EhFrame::new(bytes, LittleEndian);
    section.set_address_size(8);
    let bases = BaseAddresses::default().set_eh_frame(address);
    // Stubs have entries as well; they are no functions.
    let stubs: Vec<Section<'_>> = parts
        .sections
        .iter()
        .filter(|section| section.name.starts_with(".plt"))
        .take(MOST_STUB_SECTIONS)
        .copied()
        .collect();
    let mut common = HashMap::new();
    let mut ranges = Vec::new();
    let mut entries = section.entries(&bases);
    loop {
        match entries.next() {
            Ok(None) => break,
            Ok(Some(CieOrFde::Cie(_))) => {}
            Ok(Some(CieOrFde::Fde(partial))) => {
                let parsed = partial.parse(|section, bases, offset| {
                    if let Some(cie) = common.get(&offset) {
                        return Ok(gimli::CommonInformationEntry::clone(cie));
                    }
                    let cie = section.cie_from_offset(bases, offset)?;
                    common.insert(offset, cie.clone());
                    Ok(cie)
                });
                let Ok(entry) = parsed else {
                    parts.problem("an unwind entry cannot be read");
                    continue;
                };
                let start = entry.initial_address();
                if !stubs.iter().any(|section| section.contains(start)) {
                    ranges.push(FunctionRange {
                        start,
                        end: start.saturating_add(entry.len()),
                    });
                }
            }
            Err(_) => {
                parts.problem("the unwind table ends in damaged data");
                break;
            }
        }
    }
    ranges
}

fn frame_bytes<'d>(parts: &Parts<'d>, header: Option<u64>) -> Option<(u64, &'d [u8])> {
    if let Some(section) = parts.section(".eh_frame") {
        let bytes = parts.layout.bytes(section.address, section.size)?;
        return Some((section.address, bytes));
    }
    // The header's first field is the address of the table.
    let header_address = header?;
    let bytes = parts.layout.bytes_from(header_address)?;
    let bases = BaseAddresses::default().set_eh_frame_hdr(header_address);
    let parsed = EhFrameHdr::new(bytes, LittleEndian).parse(&bases, 8).ok()?;
    let gimli::Pointer::Direct(address) = parsed.eh_frame_ptr() else {
        return None;
    };
    Some((address, parts.layout.bytes_from(address)?))
}
