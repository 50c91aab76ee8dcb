//! Reads that may fail: the only door through which this crate sees memory.

/// Memory of the interpreter.
pub trait Memory {
    /// Fills `buffer` from `address`, or returns false when any byte is unreadable (what is then in
    /// the buffer is not used). Must not fault. Only asked for user-space addresses.
    fn read(&self, address: u64, buffer: &mut [u8]) -> bool;
}

impl<M: Memory + ?Sized> Memory for &M {
    fn read(&self, address: u64, buffer: &mut [u8]) -> bool {
        (**self).read(address, buffer)
    }
}

/// Lowest address that can be mapped by default (`vm.mmap_min_addr` is at least a page).
const LOWEST: u64 = 0x1000;
/// One past the highest user-space address with four-level page tables.
const HIGHEST: u64 = 0x8000_0000_0000;
/// Smallest page: a read that stays inside one page is readable as a whole or not at all.
const PAGE: u64 = 0x1000;

/// `address` when a structure of pointers can lie there.
pub(crate) fn aligned(address: u64) -> Option<u64> {
    (address.is_multiple_of(8) && (LOWEST..HIGHEST).contains(&address)).then_some(address)
}

/// Bytes from `address` to the end of its page.
pub(crate) fn rest_of_page(address: u64) -> u64 {
    PAGE.wrapping_sub(address % PAGE)
}

/// Every read of this crate. False also for ranges that cannot be mapped.
pub(crate) fn fill<M: Memory + ?Sized>(memory: &M, address: u64, buffer: &mut [u8]) -> bool {
    let end = address.saturating_add(buffer.len() as u64);
    address >= LOWEST && end <= HIGHEST && memory.read(address, buffer)
}

pub(crate) fn read_u64<M: Memory + ?Sized>(memory: &M, address: u64) -> Option<u64> {
    let mut buffer = [0; 8];
    fill(memory, address, &mut buffer).then(|| u64::from_ne_bytes(buffer))
}

/// The start of a structure, copied by one read so that its fields belong together as far as a race
/// allows.
pub(crate) struct Window<const N: usize> {
    bytes: [u8; N],
    length: usize,
}

impl<const N: usize> Window<N> {
    /// Copies `length` bytes (not more than N) at an aligned `address`.
    pub(crate) fn read<M: Memory + ?Sized>(memory: &M, address: u64, length: u64) -> Option<Self> {
        let address = aligned(address)?;
        let length = usize::try_from(length).ok()?;
        let mut bytes = [0; N];
        let filled = fill(memory, address, bytes.get_mut(..length)?);
        filled.then_some(Self { bytes, length })
    }

    fn field<const W: usize>(&self, offset: u64) -> Option<[u8; W]> {
        let start = usize::try_from(offset).ok()?;
        let end = start.checked_add(W).filter(|end| *end <= self.length)?;
        self.bytes.get(start..end)?.try_into().ok()
    }

    pub(crate) fn u8(&self, offset: u64) -> Option<u8> {
        self.field::<1>(offset).map(u8::from_ne_bytes)
    }

    pub(crate) fn u32(&self, offset: u64) -> Option<u32> {
        self.field(offset).map(u32::from_ne_bytes)
    }

    pub(crate) fn i32(&self, offset: u64) -> Option<i32> {
        self.field(offset).map(i32::from_ne_bytes)
    }

    pub(crate) fn u64(&self, offset: u64) -> Option<u64> {
        self.field(offset).map(u64::from_ne_bytes)
    }
}
