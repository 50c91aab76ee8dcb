//! The bytes of the format: little-endian, fixed sizes, aligned to eight.
//!
//! A change of any of these structures needs a new [`VERSION`].

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// The first bytes of every trace.
pub const MAGIC: [u8; 8] = *b"RSTRACE\0";
/// The version of the format that this crate writes and the newest that it reads.
pub const VERSION: u32 = 1;
/// Marks a record that is complete. It is written last.
pub const RECORD_MAGIC: u32 = 0x524e_5352;
/// The file grows by this many bytes at a time.
pub const GROWTH: u64 = 256 * 1024;
/// Address space set aside for a trace, in bytes: it never grows beyond that.
pub const CAPACITY: u64 = 64 * 1024 * 1024;
/// Room for call sites. A program with more faulty sites loses the rest, counted.
pub const SITES: u32 = 1024;
/// Room for threads that attach, at any one time.
pub const THREADS: u32 = 512;

/// What the runtime says of itself ([`Header::watch_state`]).
pub mod watch_state {
    /// No interpreter has been seen yet.
    pub const STARTING: u32 = 0;
    /// The hooks are in force.
    pub const IN_FORCE: u32 = 1;
    /// They are not; `reason` says why.
    pub const NOT_IN_FORCE: u32 = 2;
}

/// Bits of [`Header::python_build`].
pub mod python_build {
    /// A free-threaded build.
    pub const FREE_THREADED: u32 = 1;
    /// The interpreter is the executable itself, not a shared library.
    pub const STATIC: u32 = 2;
    /// The interpreter was loaded after the program had started.
    pub const LOADED_LATE: u32 = 4;
}

/// The life of the interpreter as a call sees it ([`Event::life`]).
pub mod life {
    /// Alive, or not yet finalizing.
    pub const ALIVE: u8 = 1;
    /// The finalizing flag is set and the interpreter still exists.
    pub const FINALIZING: u8 = 2;
    /// The interpreter has been deleted.
    pub const FINALIZED: u8 = 3;
}

/// What happened ([`Event::kind`]).
pub mod event_kind {
    /// A function that needs an attached thread state was called without one.
    pub const CALL: u8 = 1;
    /// A function that attaches was called while or after finalizing.
    pub const ATTACH: u8 = 2;
    /// The interpreter ended the thread inside a function that attaches.
    pub const ATTACH_ENDED_THREAD: u8 = 3;
    /// A function that attaches was still waiting when the process ended.
    pub const ATTACH_NEVER_RETURNED: u8 = 4;
}

/// The thread's own thread state at an event ([`Event::thread_state`]).
pub mod thread_state {
    /// It has none.
    pub const NONE: u8 = 0;
    /// It has one and has detached it.
    pub const DETACHED: u8 = 1;
}

/// Bits of [`Event::flags`].
pub mod event_flags {
    /// The thread that started the process.
    pub const MAIN_THREAD: u8 = 1;
    /// The release was of the last reference.
    pub const LAST_REFERENCE: u8 = 2;
    /// `object` is meaningful.
    pub const HAS_OBJECT: u8 = 4;
    /// `detach_*` is meaningful.
    pub const HAS_DETACH: u8 = 8;
}

/// The kinds of records ([`RecordHeader::kind`]). A reader steps over kinds that it does not know.
pub mod record_kind {
    /// Taken back; to be stepped over.
    pub const VOID: u16 = 0;
    /// [`super::ModuleRecord`], then the path.
    pub const MODULE: u16 = 1;
    /// [`super::SlotsRecord`], then [`super::SlotEntry`] items.
    pub const SLOTS: u16 = 2;
    /// [`super::Event`].
    pub const EVENT: u16 = 3;
    /// [`super::StackRecord`], then stack memory.
    pub const STACK: u16 = 4;
    /// [`super::PythonStackRecord`], then [`super::PythonFrameEntry`] items with their text.
    pub const PYTHON_STACK: u16 = 5;
}

/// The role of a module ([`ModuleRecord::role`]).
pub mod module_role {
    /// Its calls are watched.
    pub const WATCHED: u8 = 1;
    /// It uses the C-API but is not watched; `reason` says why.
    pub const SKIPPED: u8 = 2;
    /// The interpreter.
    pub const INTERPRETER: u8 = 3;
    /// Loaded, and without interest except for stacks.
    pub const OTHER: u8 = 4;
    /// refsan's own runtime.
    pub const RUNTIME: u8 = 5;
}

/// Why a module is skipped ([`ModuleRecord::reason`]).
pub mod skip_reason {
    /// It is not skipped.
    pub const NONE: u8 = 0;
    /// It belongs to the standard library.
    pub const STANDARD_LIBRARY: u8 = 1;
    /// Its table could not be made writable.
    pub const PROTECTED: u8 = 2;
    /// Its tables make no sense.
    pub const MALFORMED: u8 = 3;
    /// There was no memory for thunks.
    pub const NO_MEMORY: u8 = 4;
}

/// Bits of [`SlotEntry::flags`].
pub mod slot_flags {
    /// The slot is a `GLOB_DAT` one; otherwise `JUMP_SLOT`.
    pub const GLOB_DAT: u16 = 1;
    /// The slot was left alone: its address may be stored or compared.
    pub const NOT_PATCHED: u16 = 2;
    /// The function releases an object.
    pub const RELEASE: u16 = 4;
    /// The function only reads.
    pub const READS_ONLY: u16 = 8;
}

/// A state of a [`ThreadEntry`].
pub mod thread_entry_state {
    /// The entry has no owner.
    pub const FREE: u32 = 0;
    /// Its thread is not inside a function that attaches.
    pub const IDLE: u32 = 1;
    /// Its thread has entered a function that attaches and has not come back.
    pub const ATTACHING: u32 = 2;
    /// It is being given to a thread.
    pub const CLAIMED: u32 = 3;
}

/// The start of the file.
#[repr(C)]
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct Header {
    /// [`MAGIC`].
    pub magic: [u8; 8],
    /// [`VERSION`].
    pub version: u32,
    /// Size of this header, in bytes.
    pub header_size: u32,
    /// Offset of the site table, in bytes.
    pub sites_offset: u32,
    /// Items in the site table.
    pub sites_capacity: u32,
    /// Offset of the thread table, in bytes.
    pub threads_offset: u32,
    /// Items in the thread table.
    pub threads_capacity: u32,
    /// Offset of the first record, in bytes.
    pub records_offset: u32,
    /// One of [`watch_state`].
    pub watch_state: u32,
    /// The process id.
    pub pid: u32,
    /// The parent's process id.
    pub parent_pid: u32,
    /// The process came into being by `fork` from a watched one.
    pub forked: u32,
    /// `PY_VERSION_HEX`, 0 while none is known.
    pub python_version: u32,
    /// [`python_build`] bits.
    pub python_build: u32,
    /// Zero.
    pub reserved: u32,
    /// Wall-clock time of the start, nanoseconds since 1970.
    pub started_realtime: u64,
    /// Monotonic time of the start, nanoseconds.
    pub started_monotonic: u64,
    /// Offset of the next record, in bytes. May lie behind the end of a full file.
    pub cursor: u64,
    /// Records that found no room.
    pub dropped_records: u64,
    /// Faults whose site found no room.
    pub dropped_sites: u64,
    /// Threads that found no room.
    pub dropped_threads: u64,
    /// Number of the newest event.
    pub sequence: u64,
    /// Monotonic time at which the finalizing flag was first seen set; 0: never.
    pub finalizing_seen: u64,
    /// Monotonic time at which the interpreter was first seen gone; 0: never.
    pub finalized_seen: u64,
    /// Monotonic time at which the exit handlers of the process reached the runtime; 0: never.
    pub ended: u64,
    /// Why the hooks are not in force.
    pub reason: [u8; 160],
    /// The version of refsan that wrote the trace.
    pub tool_version: [u8; 32],
    /// The path of the executable.
    pub executable: [u8; 512],
    /// The arguments, each ended by a zero byte.
    pub arguments: [u8; 1024],
}

/// A call site that broke a rule.
#[repr(C)]
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct SiteEntry {
    /// A hash of everything below that identifies the site; 0: the entry is free.
    pub hash: u64,
    /// Where the call returns to.
    pub return_address: u64,
    /// How often.
    pub count: u64,
    /// Of these, recorded as events.
    pub sampled: u32,
    /// The module that made the call.
    pub module: u32,
    /// The slot in that module.
    pub slot: u32,
    /// [`event_kind`].
    pub kind: u8,
    /// [`life`].
    pub life: u8,
    /// Zero.
    pub reserved: [u8; 2],
}

/// The registers that an unwinder starts from, at the call instruction's return address.
#[repr(C)]
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
pub struct Registers {
    /// The return address of the call.
    pub rip: u64,
    /// The stack pointer after the call has returned.
    pub rsp: u64,
    /// The callee-saved registers.
    pub rbp: u64,
    /// See `rbp`.
    pub rbx: u64,
    /// See `rbp`.
    pub r12: u64,
    /// See `rbp`.
    pub r13: u64,
    /// See `rbp`.
    pub r14: u64,
    /// See `rbp`.
    pub r15: u64,
}

/// A thread that has attached at least once through a watched call.
#[repr(C)]
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct ThreadEntry {
    /// One of [`thread_entry_state`].
    pub state: u32,
    /// The kernel's thread id.
    pub tid: u32,
    /// The module whose call is being waited for.
    pub module: u32,
    /// The slot in that module.
    pub slot: u32,
    /// Monotonic time of the call.
    pub since: u64,
    /// The thread state that is asked for, where the call names one.
    pub tstate: u64,
    /// The registers at the call.
    pub registers: Registers,
    /// The kernel's name of the thread.
    pub name: [u8; 16],
}

/// The start of every record.
#[repr(C)]
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct RecordHeader {
    /// [`RECORD_MAGIC`]; anything else: the record was never completed.
    pub magic: u32,
    /// One of [`record_kind`].
    pub kind: u16,
    /// Zero.
    pub reserved: u16,
    /// Size of the record with this header, in bytes; a multiple of eight.
    pub size: u64,
}

/// A binary that is mapped into the process.
#[repr(C)]
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct ModuleRecord {
    /// Its number, from 0, in the order of discovery.
    pub module: u32,
    /// One of [`module_role`].
    pub role: u8,
    /// One of [`skip_reason`].
    pub reason: u8,
    /// Length of the path that follows, in bytes.
    pub path_length: u16,
    /// The load bias: runtime address minus the address in the file.
    pub bias: u64,
    /// The lowest mapped address.
    pub start: u64,
    /// The end of the highest mapping.
    pub end: u64,
    /// Bytes of the build id that are used.
    pub build_id_length: u32,
    /// The build id (GNU note).
    pub build_id: [u8; 20],
}

/// The watched imports of a module.
#[repr(C)]
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct SlotsRecord {
    /// The module's number.
    pub module: u32,
    /// Items that follow.
    pub count: u32,
}

/// One watched import.
#[repr(C)]
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct SlotEntry {
    /// Calls seen; the thunks count here. Not exact where threads call at the same time: an exact
    /// count would cost more than the check that it stands beside.
    pub calls: u64,
    /// Address of the GOT slot.
    pub address: u64,
    /// [`slot_flags`] bits.
    pub flags: u16,
    /// Bytes of `name` that are used.
    pub name_length: u16,
    /// Zero.
    pub reserved: u32,
    /// The function's name.
    pub name: [u8; 56],
}

/// A fault.
#[repr(C)]
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct Event {
    /// Its number, from 1.
    pub sequence: u64,
    /// Monotonic time, nanoseconds.
    pub time: u64,
    /// The module that made the call.
    pub module: u32,
    /// The slot in that module.
    pub slot: u32,
    /// The kernel's thread id.
    pub tid: u32,
    /// One of [`event_kind`].
    pub kind: u8,
    /// One of [`life`].
    pub life: u8,
    /// One of [`thread_state`].
    pub thread_state: u8,
    /// [`event_flags`] bits.
    pub flags: u8,
    /// Where the call returns to.
    pub return_address: u64,
    /// The object that is released.
    pub object: u64,
    /// Its reference count before the call.
    pub reference_count: i64,
    /// The thread state that is current in the process (3.8 to 3.11) or on this thread.
    pub current_tstate: u64,
    /// The thread's own thread state.
    pub own_tstate: u64,
    /// Where the thread detached: the module, the slot and the return address of that call.
    pub detach_module: u32,
    /// See `detach_module`.
    pub detach_slot: u32,
    /// See `detach_module`.
    pub detach_return_address: u64,
    /// The kernel's name of the thread.
    pub thread_name: [u8; 16],
    /// The name of the object's type; empty where unknown.
    pub type_name: [u8; 96],
}

/// The registers and the top of the stack of an event's thread.
#[repr(C)]
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct StackRecord {
    /// The event's number.
    pub sequence: u64,
    /// The registers.
    pub registers: Registers,
    /// The address of the first byte that follows.
    pub start: u64,
    /// Bytes that follow and are meaningful.
    pub length: u64,
}

/// The Python stack of one thread at an event.
#[repr(C)]
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct PythonStackRecord {
    /// The event's number.
    pub sequence: u64,
    /// `pthread_self()` of the thread.
    pub thread_id: u64,
    /// The kernel's thread id; 0 where the version does not keep it.
    pub native_thread_id: u32,
    /// 1: it is the thread of the event. 0: another one.
    pub is_event_thread: u32,
    /// Frames that follow.
    pub frames: u32,
    /// 1: more frames existed.
    pub truncated: u32,
}

/// One Python frame: `file_length` and then `function_length` bytes of text follow, and padding to
/// a multiple of four.
#[repr(C)]
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct PythonFrameEntry {
    /// The line, from 1; 0: unknown.
    pub line: u32,
    /// Bytes of the file name.
    pub file_length: u16,
    /// Bytes of the function's name.
    pub function_length: u16,
}

/// Offset of the site table.
pub const SITES_OFFSET: u32 = size_of::<Header>().next_multiple_of(64) as u32;
/// Offset of the thread table.
pub const THREADS_OFFSET: u32 = SITES_OFFSET + SITES * size_of::<SiteEntry>() as u32;
/// Offset of the first record.
pub const RECORDS_OFFSET: u32 =
    (THREADS_OFFSET + THREADS * size_of::<ThreadEntry>() as u32).next_multiple_of(4096);

const _: () = {
    assert!(size_of::<SiteEntry>() == 40);
    assert!(size_of::<ThreadEntry>() == 112);
    assert!(size_of::<RecordHeader>() == 16);
    assert!(size_of::<SlotEntry>() == 80);
    assert!(size_of::<Event>() == 200);
    assert!((RECORDS_OFFSET as u64) < GROWTH);
};

/// The text in a fixed field: up to the first zero byte, lossily decoded.
#[cfg(feature = "reader")]
pub fn text(field: &[u8]) -> String {
    let end = field
        .iter()
        .position(|byte| *byte == 0)
        .unwrap_or(field.len());
    String::from_utf8_lossy(&field[..end]).into_owned()
}

/// Copies `text` into a fixed field, cut to fit, always ended by a zero byte.
pub fn set_text(field: &mut [u8], text: &[u8]) {
    field.fill(0);
    let length = text.len().min(field.len().saturating_sub(1));
    field[..length].copy_from_slice(&text[..length]);
}
