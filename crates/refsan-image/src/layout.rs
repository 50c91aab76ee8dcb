//! The address space of an image: which addresses have bytes in the file, and what may run.

/// A named range of the address space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Section<'d> {
    /// The name as in the file (`.text`, `__text`).
    pub name: &'d str,
    /// The Mach-O segment (`__TEXT`), empty in other formats.
    pub segment: &'d str,
    /// First address.
    pub address: u64,
    /// Size in bytes.
    pub size: u64,
    /// May be executed.
    pub executable: bool,
    /// May be written while the program runs.
    pub writable: bool,
    /// Has no bytes in the file.
    pub zero_fill: bool,
}

impl Section<'_> {
    /// Whether the section holds the address.
    #[must_use]
    pub fn contains(&self, address: u64) -> bool {
        address >= self.address && address - self.address < self.size
    }

    /// The address after the last one, saturating.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.address.saturating_add(self.size)
    }
}

/// A run of addresses with the bytes that fill its beginning.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment<'d> {
    pub(crate) address: u64,
    pub(crate) memory_size: u64,
    pub(crate) data: &'d [u8],
    pub(crate) executable: bool,
}

impl Segment<'_> {
    fn contains(&self, address: u64) -> bool {
        address >= self.address && address - self.address < self.memory_size
    }
}

/// All segments, by address.
#[derive(Debug, Default)]
pub(crate) struct Layout<'d> {
    segments: Vec<Segment<'d>>,
}

impl<'d> Layout<'d> {
    pub(crate) fn new(mut segments: Vec<Segment<'d>>) -> Self {
        segments.retain(|segment| segment.memory_size != 0);
        segments.sort_by_key(|segment| segment.address);
        Self { segments }
    }

    fn segment(&self, address: u64) -> Option<&Segment<'d>> {
        let after = self
            .segments
            .partition_point(|segment| segment.address <= address);
        let segment = self.segments.get(after.checked_sub(1)?)?;
        segment.contains(address).then_some(segment)
    }

    /// Whether the address belongs to the image, with or without bytes in the file.
    pub(crate) fn contains(&self, address: u64) -> bool {
        self.segment(address).is_some()
    }

    pub(crate) fn is_executable(&self, address: u64) -> bool {
        self.segment(address)
            .is_some_and(|segment| segment.executable)
    }

    /// The address after the segment of `address`.
    pub(crate) fn segment_end(&self, address: u64) -> Option<u64> {
        let segment = self.segment(address)?;
        Some(segment.address.saturating_add(segment.memory_size))
    }

    /// The bytes from the address to the end of the file's part of its segment.
    pub(crate) fn bytes_from(&self, address: u64) -> Option<&'d [u8]> {
        let segment = self.segment(address)?;
        let offset = usize::try_from(address - segment.address).ok()?;
        segment.data.get(offset..)
    }

    pub(crate) fn bytes(&self, address: u64, length: u64) -> Option<&'d [u8]> {
        self.bytes_from(address)?
            .get(..usize::try_from(length).ok()?)
    }

    pub(crate) fn u64_at(&self, address: u64) -> Option<u64> {
        let bytes = self.bytes(address, 8)?;
        Some(u64::from_le_bytes(bytes.try_into().ok()?))
    }

    pub(crate) fn u32_at(&self, address: u64) -> Option<u32> {
        let bytes = self.bytes(address, 4)?;
        Some(u32::from_le_bytes(bytes.try_into().ok()?))
    }

    /// The text up to the next zero byte, of at most `limit` bytes.
    pub(crate) fn text_at(&self, address: u64, limit: usize) -> Option<&'d str> {
        text(self.bytes_from(address)?, limit)
    }
}

/// The text before the first zero byte, if one is among the first `limit` bytes.
pub(crate) fn text(bytes: &[u8], limit: usize) -> Option<&str> {
    let window = bytes.get(..limit.min(bytes.len()))?;
    let length = window.iter().position(|byte| *byte == 0)?;
    std::str::from_utf8(&window[..length]).ok()
}

/// The part of a range that lies in the file.
pub(crate) fn clipped(data: &[u8], offset: u64, size: u64) -> &[u8] {
    let start = usize::try_from(offset)
        .unwrap_or(usize::MAX)
        .min(data.len());
    let length = usize::try_from(size)
        .unwrap_or(usize::MAX)
        .min(data.len() - start);
    &data[start..start + length]
}
