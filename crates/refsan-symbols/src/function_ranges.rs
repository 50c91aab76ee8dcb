//! Where functions begin and end, from `.eh_frame`: stripped files have it too.

use gimli::{
    BaseAddresses, EhFrame, EhFrameHdr, EhFrameOffset, EndianSlice, FrameDescriptionEntry,
    LittleEndian, UnwindSection,
};

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

/// What `.eh_frame` says of one function, or of one part of it.
pub(crate) struct Entry<'a> {
    pub(crate) description: FrameDescriptionEntry<EndianSlice<'a, LittleEndian>>,
}

impl Entry<'_> {
    pub(crate) fn range(&self) -> FunctionRange {
        FunctionRange {
            start: self.description.initial_address(),
            end: self.description.end_address(),
        }
    }

    /// The frame is the one that the kernel builds to run a signal handler.
    pub(crate) fn is_signal_frame(&self) -> bool {
        self.description.is_signal_trampoline()
    }
}

/// The unwind sections of a file.
#[derive(Debug)]
pub(crate) struct UnwindSections {
    eh_frame: Vec<u8>,
    eh_frame_start: u64,
    /// `.eh_frame_hdr`, if it is there and has a table to search.
    header: Option<Vec<u8>>,
    pub(crate) bases: BaseAddresses,
    /// The same table, where the file brings none of its own.
    sorted: Vec<(FunctionRange, EhFrameOffset)>,
}

impl UnwindSections {
    /// Reads the sections; `None` where a file has none.
    pub(crate) fn read(binary: &Binary) -> Option<UnwindSections> {
        let start = |section: Option<&Section>| section.map_or(0, |section| section.address);
        let section = binary.section(".eh_frame")?;
        let header = binary.section(".eh_frame_hdr");
        let bases = BaseAddresses::default()
            .set_eh_frame(section.address)
            .set_eh_frame_hdr(start(header))
            .set_text(start(binary.section(".text")))
            .set_got(start(binary.section(".got")));
        let mut sections = UnwindSections {
            eh_frame: binary.contents(section)?,
            eh_frame_start: section.address,
            header: header.and_then(|section| binary.contents(section)),
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
    pub(crate) fn covering(&self, address: u64) -> Option<Entry<'_>> {
        let offset = if self.header.is_some() {
            self.look_up(address)?
        } else {
            let starts_before = |(range, _): &(FunctionRange, _)| range.start <= address;
            let index = self.sorted.partition_point(starts_before);
            self.sorted.get(index.checked_sub(1)?)?.1
        };
        let parse_common = EhFrame::cie_from_offset;
        let description = self
            .frames()
            .fde_from_offset(&self.bases, offset, parse_common);
        let entry = Entry {
            description: description.ok()?,
        };
        entry.range().contains(address).then_some(entry)
    }

    pub(crate) fn frames(&self) -> EhFrame<EndianSlice<'_, LittleEndian>> {
        let mut frames = EhFrame::new(&self.eh_frame, LittleEndian);
        frames.set_address_size(8);
        frames
    }

    fn has_table(&self) -> bool {
        let Some(header) = &self.header else {
            return false;
        };
        let header = EhFrameHdr::new(header, LittleEndian).parse(&self.bases, 8);
        header.is_ok_and(|header| header.table().is_some())
    }

    fn look_up(&self, address: u64) -> Option<EhFrameOffset> {
        let header = EhFrameHdr::new(self.header.as_ref()?, LittleEndian);
        let header = header.parse(&self.bases, 8).ok()?;
        let pointer = header.table()?.lookup(address, &self.bases).ok()?;
        // A damaged table can point anywhere.
        let offset = pointer.direct().ok()?.checked_sub(self.eh_frame_start)?;
        Some(EhFrameOffset(usize::try_from(offset).ok()?))
    }

    fn all(&self) -> Vec<(FunctionRange, EhFrameOffset)> {
        let frames = self.frames();
        let mut entries = frames.entries(&self.bases);
        let mut all = Vec::new();
        while let Ok(Some(entry)) = entries.next() {
            if let gimli::CieOrFde::Fde(partial) = entry
                && let Ok(description) = partial.parse(EhFrame::cie_from_offset)
            {
                let offset = EhFrameOffset(description.offset());
                all.push((Entry { description }.range(), offset));
            }
        }
        all.sort_by_key(|(range, _)| range.start);
        all
    }
}
