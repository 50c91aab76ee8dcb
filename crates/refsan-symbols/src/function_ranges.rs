//! Where functions begin and end, from `.eh_frame`: stripped files have it too.

use std::ops::Range;
use std::sync::Arc;

use gimli::{BaseAddresses, EhFrame, EhFrameHdr, EndianSlice, LittleEndian, UnwindSection};

use crate::binary::{Binary, Section};

/// The addresses of one function, or of one part of a function that the compiler split.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FunctionRange {
    /// The first address.
    pub start: u64,
    /// The end.
    pub end: u64,
}

impl FunctionRange {
    /// Whether the address lies inside.
    pub fn contains(&self, address: u64) -> bool {
        (self.start..self.end).contains(&address)
    }
}

/// One entry of `.eh_frame`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) range: FunctionRange,
    /// The frame is the one that the kernel builds to run a signal handler.
    pub(crate) is_signal_frame: bool,
}

/// The unwind sections of a file.
#[derive(Debug)]
pub(crate) struct UnwindSections {
    pub(crate) eh_frame: Arc<[u8]>,
    pub(crate) eh_frame_range: Range<u64>,
    pub(crate) header: Option<(Arc<[u8]>, Range<u64>)>,
    pub(crate) text_range: Option<Range<u64>>,
    pub(crate) got_range: Option<Range<u64>>,
    bases: BaseAddresses,
    /// The ranges, sorted, where the file brings no table of its own.
    sorted: Vec<(FunctionRange, bool)>,
}

impl UnwindSections {
    /// Reads the sections; `None` where a file has none.
    pub(crate) fn read(binary: &Binary) -> Option<UnwindSections> {
        let section = binary.section(".eh_frame")?;
        let eh_frame: Arc<[u8]> = binary.contents(section)?.into();
        let header_section = binary.section(".eh_frame_hdr");
        let header = header_section.and_then(|section| {
            let contents = binary.contents(section)?;
            Some((contents.into(), range_of(section)))
        });
        let text_range = binary.section(".text").map(range_of);
        let got_range = binary.section(".got").map(range_of);
        let start = |range: &Option<Range<u64>>| range.as_ref().map_or(0, |range| range.start);
        let bases = BaseAddresses::default()
            .set_eh_frame(section.address)
            .set_eh_frame_hdr(header_section.map_or(0, |section| section.address))
            .set_text(start(&text_range))
            .set_got(start(&got_range));
        let mut sections = UnwindSections {
            eh_frame,
            eh_frame_range: range_of(section),
            header,
            text_range,
            got_range,
            bases,
            sorted: Vec::new(),
        };
        if !sections.has_table() {
            sections.header = None;
            sections.sorted = sections.all();
        }
        Some(sections)
    }

    /// The entry that covers the address.
    pub(crate) fn covering(&self, address: u64) -> Option<Entry> {
        let entry = if self.header.is_some() {
            self.look_up(address)
        } else {
            let index = self
                .sorted
                .partition_point(|(range, _)| range.start <= address);
            let (range, is_signal_frame) = *self.sorted.get(index.checked_sub(1)?)?;
            Some(Entry {
                range,
                is_signal_frame,
            })
        };
        entry.filter(|entry| entry.range.contains(address))
    }

    fn frames(&self) -> EhFrame<EndianSlice<'_, LittleEndian>> {
        let mut frames = EhFrame::new(&self.eh_frame, LittleEndian);
        frames.set_address_size(8);
        frames
    }

    fn has_table(&self) -> bool {
        let Some((header, _)) = &self.header else {
            return false;
        };
        EhFrameHdr::new(header, LittleEndian)
            .parse(&self.bases, 8)
            .is_ok_and(|header| {
                // Its offsets are relative to where it says that the entries begin.
                let begin = header.eh_frame_ptr().direct();
                header.table().is_some() && begin.ok() == Some(self.eh_frame_range.start)
            })
    }

    fn look_up(&self, address: u64) -> Option<Entry> {
        let (header, _) = self.header.as_ref()?;
        let header = EhFrameHdr::new(header, LittleEndian)
            .parse(&self.bases, 8)
            .ok()?;
        let pointer = header.table()?.lookup(address, &self.bases).ok()?;
        // A damaged table can point anywhere.
        let offset = pointer
            .direct()
            .ok()?
            .checked_sub(self.eh_frame_range.start)?;
        let offset = gimli::EhFrameOffset(usize::try_from(offset).ok()?);
        let parse_common = EhFrame::cie_from_offset;
        let entry = self
            .frames()
            .fde_from_offset(&self.bases, offset, parse_common);
        let entry = entry.ok()?;
        Some(Entry {
            range: FunctionRange {
                start: entry.initial_address(),
                end: entry.end_address(),
            },
            is_signal_frame: entry.is_signal_trampoline(),
        })
    }

    fn all(&self) -> Vec<(FunctionRange, bool)> {
        let frames = self.frames();
        let mut entries = frames.entries(&self.bases);
        let mut all = Vec::new();
        while let Ok(Some(entry)) = entries.next() {
            if let gimli::CieOrFde::Fde(partial) = entry
                && let Ok(entry) =
                    partial.parse(|section, bases, offset| section.cie_from_offset(bases, offset))
            {
                let range = FunctionRange {
                    start: entry.initial_address(),
                    end: entry.end_address(),
                };
                all.push((range, entry.is_signal_trampoline()));
            }
        }
        all.sort_by_key(|(range, _)| range.start);
        all
    }
}

fn range_of(section: &Section) -> Range<u64> {
    section.address..section.address.saturating_add(section.size)
}
