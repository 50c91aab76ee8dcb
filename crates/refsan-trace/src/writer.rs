//! The side of the watched process: appends to a mapped file without allocating and without locks.
//!
//! The file is mapped shared and written through memory, so whatever was written survives the
//! process. Space is set aside with `fallocate` before it is touched: on a full disk a write
//! through a mapping would otherwise kill the program. No descriptor is kept open, since programs
//! close the descriptors that they do not know; the file is opened again to grow. It is never cut
//! to what is used: another thread may be writing behind that.

use core::ffi::CStr;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use rustix::fs::{FallocateFlags, Mode, OFlags};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags};
use zerocopy::FromZeros;

use crate::layout::{
    self, CAPACITY, GROWTH, Header, RecordHeader, SiteEntry, ThreadEntry, record_kind,
    thread_entry_state,
};

/// Why a trace cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CreateError {
    /// The file cannot be made.
    Open(Errno),
    /// The disk has no room for it.
    Space(Errno),
    /// It cannot be mapped.
    Map(Errno),
    /// The path is longer than the writer can keep.
    PathTooLong,
}

/// Room for the path, with the zero byte at its end.
const PATH: usize = 1024;

/// A mapped trace.
pub struct Writer {
    base: *mut u8,
    /// Bytes of the file that may be touched.
    length: AtomicU64,
    path: [u8; PATH],
}

// SAFETY: the mapping lives as long as the process; every field that several threads write is
// written through atomics, and each record's bytes belong to the one thread that reserved them.
unsafe impl Sync for Writer {}
// SAFETY: see `Sync`; nothing in it belongs to a thread.
unsafe impl Send for Writer {}

/// What identifies a faulty call site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SiteKey {
    /// Where the call returns to.
    pub return_address: u64,
    /// The module.
    pub module: u32,
    /// The slot in the module.
    pub slot: u32,
    /// [`layout::event_kind`].
    pub kind: u8,
    /// [`layout::life`].
    pub life: u8,
}

impl SiteKey {
    /// Never 0, which marks a free entry.
    fn hash(&self) -> u64 {
        let mut hash: u64 = 0x9e37_79b9_7f4a_7c15;
        let identity = u64::from(self.module) << 40
            | u64::from(self.slot) << 16
            | u64::from(self.kind) << 8
            | u64::from(self.life);
        for word in [self.return_address, identity] {
            hash = (hash ^ word).wrapping_mul(0xff51_afd7_ed55_8ccd);
            hash ^= hash >> 33;
        }
        hash | 1
    }
}

/// A thread's entry in the table.
#[derive(Clone, Copy)]
pub struct ThreadCell(*mut ThreadEntry);

impl Writer {
    /// Makes the file and maps it. `fill` completes the header.
    ///
    /// # Errors
    /// [`CreateError`]; [`CreateError::Open`] with `EXIST` when there is such a file already.
    pub fn create(path: &CStr, fill: impl FnOnce(&mut Header)) -> Result<Writer, CreateError> {
        let bytes = path.to_bytes_with_nul();
        let mut kept = [0; PATH];
        kept.get_mut(..bytes.len())
            .ok_or(CreateError::PathTooLong)?
            .copy_from_slice(bytes);
        let length = GROWTH;
        let fd = new_file(path, length)?;
        // SAFETY: a new mapping at an address of the kernel's choice disturbs nobody.
        let base = unsafe {
            rustix::mm::mmap(
                core::ptr::null_mut(),
                CAPACITY as usize,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED | MapFlags::NORESERVE,
                &fd,
                0,
            )
        }
        .map_err(CreateError::Map)?;
        let writer = Writer {
            base: base.cast(),
            length: AtomicU64::new(length),
            path: kept,
        };
        let mut header = Header::new_zeroed();
        fill(&mut header);
        header.magic = layout::MAGIC;
        header.version = layout::VERSION;
        header.header_size = size_of::<Header>() as u32;
        header.sites_offset = layout::SITES_OFFSET;
        header.sites_capacity = layout::SITES;
        header.threads_offset = layout::THREADS_OFFSET;
        header.threads_capacity = layout::THREADS;
        header.records_offset = layout::RECORDS_OFFSET;
        header.cursor = layout::RECORDS_OFFSET.into();
        // SAFETY: the mapping begins with room for the header, and nobody else knows it yet.
        unsafe { writer.base.cast::<Header>().write(header) };
        Ok(writer)
    }

    /// The header, for fields that only one thread writes: those of the start.
    ///
    /// # Safety
    /// No other thread may use the returned reference's fields at the same time, and no other
    /// reference may live.
    #[allow(clippy::mut_from_ref)] // the header lies in shared memory; the caller keeps it apart
    pub unsafe fn header_mut(&self) -> &mut Header {
        // SAFETY: the mapping begins with a header; exclusiveness is the caller's promise.
        unsafe { &mut *self.base.cast::<Header>() }
    }

    fn word(&self, offset: usize) -> &AtomicU64 {
        debug_assert!(offset.is_multiple_of(8) && offset < size_of::<Header>());
        // SAFETY: the offset lies in the header, aligned; every bit pattern is an integer.
        unsafe { AtomicU64::from_ptr(self.base.add(offset).cast()) }
    }

    fn half_word(&self, offset: usize) -> &AtomicU32 {
        debug_assert!(offset.is_multiple_of(4) && offset < size_of::<Header>());
        // SAFETY: as in `word`.
        unsafe { AtomicU32::from_ptr(self.base.add(offset).cast()) }
    }

    /// Says whether the hooks are in force ([`layout::watch_state`]).
    pub fn set_watch_state(&self, state: u32) {
        self.half_word(core::mem::offset_of!(Header, watch_state))
            .store(state, Ordering::Release);
    }

    /// Remembers the first time at which the interpreter was seen to finalize.
    pub fn saw_finalizing(&self, time: u64) {
        once(
            self.word(core::mem::offset_of!(Header, finalizing_seen)),
            time,
        );
    }

    /// Remembers the first time at which the interpreter was seen to be gone.
    pub fn saw_finalized(&self, time: u64) {
        once(
            self.word(core::mem::offset_of!(Header, finalized_seen)),
            time,
        );
    }

    /// Remembers that the exit handlers have reached the runtime.
    pub fn saw_end(&self, time: u64) {
        once(self.word(core::mem::offset_of!(Header, ended)), time);
    }

    /// The number for the next event, from 1.
    pub fn next_sequence(&self) -> u64 {
        self.word(core::mem::offset_of!(Header, sequence))
            .fetch_add(1, Ordering::Relaxed)
            + 1
    }

    /// Counts a fault at a site. Returns how many have been counted there before, or `None` when
    /// the table is full (which is counted too).
    pub fn count_fault(&self, key: SiteKey) -> Option<u64> {
        let hash = key.hash();
        for probe in 0..layout::SITES as usize {
            let index = (hash as usize).wrapping_add(probe) % layout::SITES as usize;
            let offset = layout::SITES_OFFSET as usize + index * size_of::<SiteEntry>();
            // SAFETY: the table lies in the mapping, aligned; other threads write its plain fields
            // only after they have won the exchange of `hash`, once.
            let entry = unsafe { self.base.add(offset).cast::<SiteEntry>() };
            // SAFETY: as above; `hash` and `count` are only used as atomics.
            let (owner, count) = unsafe {
                (
                    AtomicU64::from_ptr(&raw mut (*entry).hash),
                    AtomicU64::from_ptr(&raw mut (*entry).count),
                )
            };
            match owner.compare_exchange(0, hash, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => {
                    // SAFETY: this thread has won the entry; nobody else writes these fields.
                    unsafe {
                        (*entry).return_address = key.return_address;
                        (*entry).module = key.module;
                        (*entry).slot = key.slot;
                        (*entry).kind = key.kind;
                        (*entry).life = key.life;
                    }
                    return Some(count.fetch_add(1, Ordering::Relaxed));
                }
                Err(other) if other == hash => return Some(count.fetch_add(1, Ordering::Relaxed)),
                Err(_) => {}
            }
        }
        self.word(core::mem::offset_of!(Header, dropped_sites))
            .fetch_add(1, Ordering::Relaxed);
        None
    }

    /// Takes an entry for a thread. `alive` tells whether the thread with an id still exists: the
    /// entries of dead threads are taken over, since no destructor of ours may give them back.
    pub fn take_thread(
        &self,
        tid: u32,
        name: [u8; 16],
        alive: impl Fn(u32) -> bool,
    ) -> Option<ThreadCell> {
        for reclaim in [false, true] {
            for index in 0..layout::THREADS as usize {
                let offset = layout::THREADS_OFFSET as usize + index * size_of::<ThreadEntry>();
                // SAFETY: the table lies in the mapping, aligned.
                let entry = unsafe { self.base.add(offset).cast::<ThreadEntry>() };
                // SAFETY: `state` is only used as an atomic.
                let state = unsafe { AtomicU32::from_ptr(&raw mut (*entry).state) };
                let from = if reclaim {
                    thread_entry_state::IDLE
                } else {
                    thread_entry_state::FREE
                };
                if state.load(Ordering::Acquire) != from {
                    continue;
                }
                // SAFETY: a torn or stale id does no harm: it is only asked for its life.
                if reclaim && alive(unsafe { (*entry).tid }) {
                    continue;
                }
                let to = thread_entry_state::IDLE;
                // From IDLE to IDLE two threads could both win; a state in between tells them apart.
                let claim = thread_entry_state::CLAIMED;
                if state
                    .compare_exchange(from, claim, Ordering::AcqRel, Ordering::Relaxed)
                    .is_ok()
                {
                    // SAFETY: this thread has won the entry.
                    unsafe { ((*entry).tid, (*entry).name) = (tid, name) };
                    state.store(to, Ordering::Release);
                    return Some(ThreadCell(entry));
                }
            }
        }
        self.word(core::mem::offset_of!(Header, dropped_threads))
            .fetch_add(1, Ordering::Relaxed);
        None
    }

    /// Calls `visit` for every thread that is inside a function that attaches.
    pub fn for_each_attaching(&self, mut visit: impl FnMut(&ThreadEntry)) {
        for index in 0..layout::THREADS as usize {
            let offset = layout::THREADS_OFFSET as usize + index * size_of::<ThreadEntry>();
            // SAFETY: the table lies in the mapping; a copy that is torn by its owner is harmless,
            // since every bit pattern is a valid entry.
            let entry = unsafe { self.base.add(offset).cast::<ThreadEntry>().read_volatile() };
            if entry.state == thread_entry_state::ATTACHING {
                visit(&entry);
            }
        }
    }

    /// Appends a record made of `parts`. Returns the address of its body, or `None` when there is
    /// no room (which is counted).
    pub fn append(&self, kind: u16, parts: &[&[u8]]) -> Option<*mut u8> {
        let size = parts.iter().map(|part| part.len()).sum();
        self.append_with(kind, size, |mut body| {
            for part in parts {
                let (head, tail) = body.split_at_mut(part.len());
                head.copy_from_slice(part);
                body = tail;
            }
        })
    }

    /// Appends a record of `size` bytes that `fill` writes. See [`Writer::append`].
    pub fn append_with(
        &self,
        kind: u16,
        size: usize,
        fill: impl FnOnce(&mut [u8]),
    ) -> Option<*mut u8> {
        let whole = (size_of::<RecordHeader>() + size).next_multiple_of(8) as u64;
        let cursor = self.word(core::mem::offset_of!(Header, cursor));
        let start = cursor.fetch_add(whole, Ordering::AcqRel);
        if !self.grow_to(start.saturating_add(whole)) {
            self.word(core::mem::offset_of!(Header, dropped_records))
                .fetch_add(1, Ordering::Relaxed);
            return None;
        }
        // SAFETY: `grow_to` has made these bytes usable, and the cursor gave them to this thread.
        let (record, body) = unsafe {
            let record = self.base.add(start as usize);
            (
                record.cast::<RecordHeader>(),
                record.add(size_of::<RecordHeader>()),
            )
        };
        // SAFETY: as above; the bytes are zero, which is valid for integers.
        unsafe {
            (*record).kind = kind;
            (*record).size = whole;
            fill(core::slice::from_raw_parts_mut(body, size));
            AtomicU32::from_ptr(&raw mut (*record).magic)
                .store(layout::RECORD_MAGIC, Ordering::Release);
        }
        Some(body)
    }

    fn path(&self) -> Option<&CStr> {
        CStr::from_bytes_until_nul(&self.path).ok()
    }

    /// Makes the file at least `end` bytes long.
    fn grow_to(&self, end: u64) -> bool {
        if end <= self.length.load(Ordering::Acquire) {
            return true;
        }
        if end > CAPACITY {
            return false;
        }
        let wanted = end.next_multiple_of(GROWTH);
        let grown = self.path().ok_or(Errno::NAMETOOLONG).and_then(|path| {
            let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW;
            let fd = rustix::fs::open(path, flags, Mode::empty())?;
            allocate(&fd, wanted)
        });
        if grown.is_ok() {
            self.length.fetch_max(wanted, Ordering::AcqRel);
        }
        grown.is_ok()
    }

    /// Gives a forked child a trace of its own at the same address: the modules are kept, what the
    /// parent recorded of itself is not. On failure the child's mapping becomes private memory, so
    /// that it can never write into its parent's trace.
    ///
    /// # Errors
    /// As [`Writer::create`].
    ///
    /// # Safety
    /// Only in the child, before it starts a thread.
    pub unsafe fn become_child(
        &mut self,
        path: &CStr,
        fill: impl FnOnce(&mut Header),
    ) -> Result<(), CreateError> {
        let moved = self.move_to(path);
        if moved.is_err() {
            // SAFETY: replaces the mapping that this writer owns; the child has one thread.
            unsafe {
                let protection = ProtFlags::READ | ProtFlags::WRITE;
                let flags = MapFlags::PRIVATE | MapFlags::FIXED | MapFlags::NORESERVE;
                let size = CAPACITY as usize;
                rustix::mm::mmap_anonymous(self.base.cast(), size, protection, flags)
                    .map_err(CreateError::Map)?;
            }
            self.length.store(0, Ordering::Release);
            return moved;
        }
        self.forget_parent();
        // SAFETY: one thread, no other reference.
        fill(unsafe { self.header_mut() });
        Ok(())
    }

    fn move_to(&mut self, path: &CStr) -> Result<(), CreateError> {
        let bytes = path.to_bytes_with_nul();
        let mut kept = [0; PATH];
        kept.get_mut(..bytes.len())
            .ok_or(CreateError::PathTooLong)?
            .copy_from_slice(bytes);
        // No more than is used: a program may fork hundreds of times.
        let used = self
            .word(core::mem::offset_of!(Header, cursor))
            .load(Ordering::Acquire);
        let length = used
            .next_multiple_of(4096)
            .min(self.length.load(Ordering::Acquire));
        let fd = new_file(path, length)?;
        // SAFETY: `length` bytes of the mapping may be read.
        let mut rest = unsafe { core::slice::from_raw_parts(self.base, length as usize) };
        let mut offset = 0;
        while !rest.is_empty() {
            let written = rustix::io::pwrite(&fd, rest, offset).map_err(CreateError::Space)?;
            offset += written as u64;
            rest = rest.get(written.max(1)..).unwrap_or_default();
        }
        // SAFETY: replaces the mapping that this writer owns; the child has one thread.
        unsafe {
            rustix::mm::mmap(
                self.base.cast(),
                CAPACITY as usize,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED | MapFlags::NORESERVE | MapFlags::FIXED,
                &fd,
                0,
            )
        }
        .map_err(CreateError::Map)?;
        self.path = kept;
        self.length.store(length, Ordering::Release);
        Ok(())
    }

    /// Takes back every record but those of modules, whose slots the thunks point into.
    fn forget_parent(&mut self) {
        // SAFETY: one thread; the tables lie in the mapping.
        unsafe {
            let tables = self.base.add(layout::SITES_OFFSET as usize);
            let size = layout::RECORDS_OFFSET - layout::SITES_OFFSET;
            tables.write_bytes(0, size as usize);
        }
        let header = size_of::<RecordHeader>() as u64;
        let end = self
            .word(core::mem::offset_of!(Header, cursor))
            .load(Ordering::Acquire);
        let end = end.min(self.length.load(Ordering::Acquire));
        let mut offset = u64::from(layout::RECORDS_OFFSET);
        while offset + header <= end {
            // SAFETY: checked to lie in the mapped file; records are aligned.
            let record = unsafe { &mut *self.base.add(offset as usize).cast::<RecordHeader>() };
            if record.size < header || offset + record.size > end {
                break; // reserved by a thread of the parent that does not exist here
            }
            match record.kind {
                record_kind::SLOTS => self.clear_counts(offset + header, record.size - header),
                record_kind::MODULE => {}
                _ => {
                    record.kind = record_kind::VOID;
                    record.magic = layout::RECORD_MAGIC;
                }
            }
            offset += record.size;
        }
        self.word(core::mem::offset_of!(Header, cursor))
            .store(offset, Ordering::Release);
        for field in [
            core::mem::offset_of!(Header, dropped_records),
            core::mem::offset_of!(Header, dropped_sites),
            core::mem::offset_of!(Header, dropped_threads),
            core::mem::offset_of!(Header, sequence),
            core::mem::offset_of!(Header, finalizing_seen),
            core::mem::offset_of!(Header, finalized_seen),
            core::mem::offset_of!(Header, ended),
        ] {
            self.word(field).store(0, Ordering::Relaxed);
        }
    }

    fn clear_counts(&self, body: u64, size: u64) {
        let entry = size_of::<layout::SlotEntry>() as u64;
        let count = (size.saturating_sub(size_of::<layout::SlotsRecord>() as u64)) / entry;
        for index in 0..count {
            let offset = body + size_of::<layout::SlotsRecord>() as u64 + index * entry;
            // SAFETY: the record was checked to lie in the mapped file; one thread.
            unsafe { (*self.base.add(offset as usize).cast::<layout::SlotEntry>()).calls = 0 };
        }
    }
}

impl ThreadCell {
    /// The thread enters a function that attaches. Of `entry`, the state, the thread's id and its
    /// name are not used: they are known already.
    pub fn enter(self, entry: &ThreadEntry) {
        // SAFETY: the entry belongs to this thread; readers look at `state` first.
        unsafe {
            (*self.0).module = entry.module;
            (*self.0).slot = entry.slot;
            (*self.0).since = entry.since;
            (*self.0).tstate = entry.tstate;
            (*self.0).registers = entry.registers;
            let state = AtomicU32::from_ptr(&raw mut (*self.0).state);
            state.store(thread_entry_state::ATTACHING, Ordering::Release);
        }
    }

    /// It came back, or was ended.
    pub fn leave(self) {
        // SAFETY: the entry belongs to this thread.
        let state = unsafe { AtomicU32::from_ptr(&raw mut (*self.0).state) };
        state.store(thread_entry_state::IDLE, Ordering::Release);
    }

    /// A copy of the entry.
    pub fn get(self) -> ThreadEntry {
        // SAFETY: the entry belongs to this thread and lies in the mapping.
        unsafe { self.0.read() }
    }

    /// The cell's address as a number, for a thread-local word; 0 stands for none.
    pub fn to_bits(self) -> usize {
        self.0 as usize
    }

    /// The cell that [`ThreadCell::to_bits`] gave.
    ///
    /// # Safety
    /// `bits` must come from `to_bits` of the same process.
    pub unsafe fn from_bits(bits: usize) -> Option<ThreadCell> {
        (bits != 0).then_some(ThreadCell(bits as *mut ThreadEntry))
    }
}

/// A new file with room for `length` bytes. One that finds no room is removed again.
fn new_file(path: &CStr, length: u64) -> Result<rustix::fd::OwnedFd, CreateError> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let fd = rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR).map_err(CreateError::Open)?;
    allocate(&fd, length).map_err(|error| {
        let _ = rustix::fs::unlink(path);
        CreateError::Space(error)
    })?;
    Ok(fd)
}

/// Sets space aside up to `length`, in bytes. A file system that cannot promise space only gets
/// the length.
fn allocate(fd: &rustix::fd::OwnedFd, length: u64) -> Result<(), Errno> {
    // Beyond the limit the system would not only refuse: it would kill the program by SIGXFSZ.
    let limit = rustix::process::getrlimit(rustix::process::Resource::Fsize);
    if limit.current.is_some_and(|current| current < length) {
        return Err(Errno::FBIG);
    }
    loop {
        match rustix::fs::fallocate(fd, FallocateFlags::empty(), 0, length) {
            Err(Errno::INTR) => {}
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => return rustix::fs::ftruncate(fd, length),
            result => return result,
        }
    }
}

fn once(word: &AtomicU64, value: u64) {
    let _ = word.compare_exchange(0, value, Ordering::AcqRel, Ordering::Relaxed);
}

#[cfg(test)]
#[path = "writer_tests.rs"]
mod tests;
