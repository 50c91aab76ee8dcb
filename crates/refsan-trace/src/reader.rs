//! Reads a trace, whole, cut or hostile.
//!
//! Nothing in the file is believed before it was checked against the file's size, and what does not
//! fit is noted as damage and stepped over: a program that died in the middle of a record must not
//! take the records before it along.

use std::path::{Path, PathBuf};

use zerocopy::FromBytes;

use crate::layout::{self, RecordHeader, record_kind};

/// Why a file is no trace that can be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The file cannot be opened or read.
    #[error("cannot read the trace {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// The file is too short or begins with other bytes.
    #[error(
        "{} is not a refsan trace: it does not begin with `RSTRACE`; pass a file that ends in .rstrace",
        path.display()
    )]
    NotATrace {
        /// The file.
        path: PathBuf,
    },
    /// The file was written by a newer refsan.
    #[error(
        "{} is a trace of format {found}, and this refsan reads formats up to {supported}; read it with the refsan that wrote it ({writer}) or a newer one",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The newest version that can be read.
        supported: u32,
        /// The version of the tool that wrote it, as far as it can be told.
        writer: String,
    },
}

/// A place in the trace that made no sense.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Its offset in the file.
    pub offset: u64,
    /// What was wrong.
    pub what: String,
}

/// A mapped binary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    /// Its number.
    pub id: u32,
    /// [`layout::module_role`].
    pub role: u8,
    /// [`layout::skip_reason`].
    pub reason: u8,
    /// The load bias.
    pub bias: u64,
    /// The lowest mapped address.
    pub start: u64,
    /// The end of the highest mapping.
    pub end: u64,
    /// The build id.
    pub build_id: Vec<u8>,
    /// The path.
    pub path: String,
    /// The watched imports.
    pub slots: Vec<Slot>,
}

/// A watched import.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slot {
    /// The function.
    pub name: String,
    /// Calls seen.
    pub calls: u64,
    /// The address of the slot in the process.
    pub address: u64,
    /// [`layout::slot_flags`].
    pub flags: u16,
}

/// A call site that broke a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// Where the call returns to.
    pub return_address: u64,
    /// How often.
    pub count: u64,
    /// The module.
    pub module: u32,
    /// The slot in the module.
    pub slot: u32,
    /// [`layout::event_kind`].
    pub kind: u8,
    /// [`layout::life`].
    pub life: u8,
}

/// A fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its number.
    pub sequence: u64,
    /// Monotonic time, nanoseconds.
    pub time: u64,
    /// The module.
    pub module: u32,
    /// The slot.
    pub slot: u32,
    /// The kernel's thread id.
    pub tid: u32,
    /// [`layout::event_kind`].
    pub kind: u8,
    /// [`layout::life`].
    pub life: u8,
    /// [`layout::thread_state`].
    pub thread_state: u8,
    /// [`layout::event_flags`].
    pub flags: u8,
    /// Where the call returns to.
    pub return_address: u64,
    /// The object.
    pub object: u64,
    /// Its reference count before the call.
    pub reference_count: i64,
    /// The thread state that was current.
    pub current_tstate: u64,
    /// The thread's own thread state.
    pub own_tstate: u64,
    /// Where the thread detached.
    pub detach_module: u32,
    /// See `detach_module`.
    pub detach_slot: u32,
    /// See `detach_module`.
    pub detach_return_address: u64,
    /// The kernel's name of the thread.
    pub thread_name: String,
    /// The name of the object's type; empty where unknown.
    pub type_name: String,
}

/// A thread that was inside a function that attaches when the trace ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    /// The kernel's thread id.
    pub tid: u32,
    /// [`layout::thread_entry_state`].
    pub state: u32,
    /// The module whose call is waited for.
    pub module: u32,
    /// The slot.
    pub slot: u32,
    /// Monotonic time of the call.
    pub since: u64,
    /// The thread state asked for.
    pub tstate: u64,
    /// The registers at the call.
    pub registers: layout::Registers,
    /// The kernel's name of the thread.
    pub name: String,
}

/// Registers and stack memory of an event's thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StackMemory {
    /// The event's number.
    pub sequence: u64,
    /// The registers.
    pub registers: layout::Registers,
    /// The address of the first byte.
    pub start: u64,
    /// The memory.
    pub bytes: Vec<u8>,
}

/// The Python stack of a thread at an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PythonStack {
    /// The event's number.
    pub sequence: u64,
    /// `pthread_self()`.
    pub thread_id: u64,
    /// The kernel's thread id; 0: unknown.
    pub native_thread_id: u32,
    /// It is the thread of the event.
    pub is_event_thread: bool,
    /// More frames existed.
    pub truncated: bool,
    /// The frames, innermost first.
    pub frames: Vec<PythonFrame>,
}

/// A Python frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PythonFrame {
    /// The line; 0: unknown.
    pub line: u32,
    /// The file.
    pub file: String,
    /// The function.
    pub function: String,
}

/// A trace in memory.
#[derive(Clone, Debug)]
pub struct Trace {
    /// Where it came from.
    pub path: PathBuf,
    /// The header.
    pub header: layout::Header,
    /// The modules, by their number.
    pub modules: Vec<Module>,
    /// The faulty call sites.
    pub sites: Vec<Site>,
    /// The threads.
    pub threads: Vec<Thread>,
    /// The events, oldest first.
    pub events: Vec<Event>,
    /// Stack memory.
    pub stacks: Vec<StackMemory>,
    /// Python stacks.
    pub python_stacks: Vec<PythonStack>,
    /// What made no sense.
    pub damage: Vec<Damage>,
}

/// Places of damage that are told one by one; beyond that only their number matters.
const DAMAGE_LIMIT: usize = 16;

impl Trace {
    /// Reads a file.
    ///
    /// # Errors
    /// [`TraceError`] when it cannot be read, is no trace or is of a newer format. Damage behind
    /// the header is not an error; see [`Trace::damage`].
    pub fn read(path: &Path) -> Result<Trace, TraceError> {
        let bytes = std::fs::read(path).map_err(|source| TraceError::Io {
            path: path.to_owned(),
            source,
        })?;
        Trace::parse(path, &bytes)
    }

    /// Reads bytes; `path` is for messages.
    ///
    /// # Errors
    /// As [`Trace::read`].
    pub fn parse(path: &Path, bytes: &[u8]) -> Result<Trace, TraceError> {
        let not_a_trace = || TraceError::NotATrace {
            path: path.to_owned(),
        };
        if bytes.get(..8) != Some(&layout::MAGIC[..]) {
            return Err(not_a_trace());
        }
        let version = bytes
            .get(8..12)
            .and_then(|four| u32::read_from_bytes(four).ok());
        let version = version.ok_or_else(not_a_trace)?;
        let header = layout::Header::read_from_prefix(bytes)
            .ok()
            .map(|(header, _)| header);
        if version > layout::VERSION {
            // A newer header may have moved the field: take it only if it looks like a version.
            let writer = header
                .map(|header| layout::text(&header.tool_version))
                .filter(|text| text.starts_with(|first: char| first.is_ascii_digit()))
                .unwrap_or_else(|| "version unknown".to_owned());
            let (found, supported) = (version, layout::VERSION);
            return Err(TraceError::Newer {
                path: path.to_owned(),
                found,
                supported,
                writer,
            });
        }
        let header = header.ok_or_else(not_a_trace)?;
        let mut trace = Trace {
            path: path.to_owned(),
            header,
            modules: Vec::new(),
            sites: Vec::new(),
            threads: Vec::new(),
            events: Vec::new(),
            stacks: Vec::new(),
            python_stacks: Vec::new(),
            damage: Vec::new(),
        };
        trace.read_sites(bytes);
        trace.read_threads(bytes);
        trace.read_records(bytes);
        trace.events.sort_by_key(|event| event.sequence);
        Ok(trace)
    }

    /// The module with a number.
    pub fn module(&self, id: u32) -> Option<&Module> {
        self.modules.iter().find(|module| module.id == id)
    }

    /// The module that covers an address.
    pub fn module_at(&self, address: u64) -> Option<&Module> {
        // The newest wins: a library may have been unloaded and another mapped in its place.
        self.modules
            .iter()
            .rev()
            .find(|module| (module.start..module.end).contains(&address))
    }

    /// The slot of a call.
    pub fn slot(&self, module: u32, slot: u32) -> Option<&Slot> {
        self.module(module)?.slots.get(slot as usize)
    }

    fn damaged(&mut self, offset: u64, what: impl Into<String>) {
        if self.damage.len() < DAMAGE_LIMIT {
            self.damage.push(Damage {
                offset,
                what: what.into(),
            });
        }
    }

    fn read_sites(&mut self, bytes: &[u8]) {
        let (offset, capacity) = (self.header.sites_offset, self.header.sites_capacity);
        let Some(table) = table::<layout::SiteEntry>(bytes, offset, capacity) else {
            return self.damaged(
                offset.into(),
                "the table of call sites lies outside the file",
            );
        };
        for entry in table.filter(|entry| entry.hash != 0 && entry.count != 0) {
            self.sites.push(Site {
                return_address: entry.return_address,
                count: entry.count,
                module: entry.module,
                slot: entry.slot,
                kind: entry.kind,
                life: entry.life,
            });
        }
    }

    fn read_threads(&mut self, bytes: &[u8]) {
        let (offset, capacity) = (self.header.threads_offset, self.header.threads_capacity);
        let Some(table) = table::<layout::ThreadEntry>(bytes, offset, capacity) else {
            return self.damaged(offset.into(), "the table of threads lies outside the file");
        };
        for entry in table.filter(|entry| entry.state != layout::thread_entry_state::FREE) {
            self.threads.push(Thread {
                tid: entry.tid,
                state: entry.state,
                module: entry.module,
                slot: entry.slot,
                since: entry.since,
                tstate: entry.tstate,
                registers: entry.registers,
                name: layout::text(&entry.name),
            });
        }
    }

    fn read_records(&mut self, bytes: &[u8]) {
        let end = usize::try_from(self.header.cursor)
            .unwrap_or(usize::MAX)
            .min(bytes.len());
        let mut offset = self.header.records_offset as usize;
        let mut lost = false;
        while let Some(rest) = bytes.get(offset..end).filter(|rest| !rest.is_empty()) {
            match complete_record(rest) {
                Some((kind, body, size)) => {
                    lost = false;
                    self.read_record(offset as u64, kind, body);
                    offset += size;
                }
                // Set aside, but the file found no room to grow: nothing was ever written here.
                None if rest.iter().all(|byte| *byte == 0) => break,
                None => {
                    // A record that its thread did not finish, or a cut file: look for the next.
                    if !lost {
                        self.damaged(offset as u64, "a record was not completed");
                        lost = true;
                    }
                    offset += 8;
                }
            }
        }
    }

    fn read_record(&mut self, offset: u64, kind: u16, body: &[u8]) {
        let understood = match kind {
            record_kind::MODULE => self.read_module(body),
            record_kind::SLOTS => self.read_slots(body),
            record_kind::EVENT => self.read_event(body),
            record_kind::STACK => self.read_stack(body),
            record_kind::PYTHON_STACK => self.read_python_stack(body),
            _ => Some(()),
        };
        if understood.is_none() {
            self.damaged(offset, format!("a record of kind {kind} makes no sense"));
        }
    }

    fn read_module(&mut self, body: &[u8]) -> Option<()> {
        let (record, rest) = layout::ModuleRecord::read_from_prefix(body).ok()?;
        let path = rest.get(..record.path_length.into())?;
        let build_id = record.build_id.get(..record.build_id_length as usize)?;
        // A second record of a module says that it could not be watched after all.
        if let Some(known) = self
            .modules
            .iter_mut()
            .find(|module| module.id == record.module)
        {
            (known.role, known.reason) = (record.role, record.reason);
            return Some(());
        }
        self.modules.push(Module {
            id: record.module,
            role: record.role,
            reason: record.reason,
            bias: record.bias,
            start: record.start,
            end: record.end,
            build_id: build_id.to_owned(),
            path: String::from_utf8_lossy(path).into_owned(),
            slots: Vec::new(),
        });
        Some(())
    }

    fn read_slots(&mut self, body: &[u8]) -> Option<()> {
        let (record, rest) = layout::SlotsRecord::read_from_prefix(body).ok()?;
        let size = size_of::<layout::SlotEntry>().checked_mul(record.count as usize)?;
        let entries = rest
            .get(..size)?
            .chunks_exact(size_of::<layout::SlotEntry>());
        let module = self
            .modules
            .iter_mut()
            .find(|module| module.id == record.module)?;
        for bytes in entries {
            let entry = layout::SlotEntry::read_from_bytes(bytes).ok()?;
            let name = entry.name.get(..entry.name_length.into())?;
            module.slots.push(Slot {
                name: String::from_utf8_lossy(name).into_owned(),
                calls: entry.calls,
                address: entry.address,
                flags: entry.flags,
            });
        }
        Some(())
    }

    fn read_event(&mut self, body: &[u8]) -> Option<()> {
        let (event, _) = layout::Event::read_from_prefix(body).ok()?;
        self.events.push(Event {
            sequence: event.sequence,
            time: event.time,
            module: event.module,
            slot: event.slot,
            tid: event.tid,
            kind: event.kind,
            life: event.life,
            thread_state: event.thread_state,
            flags: event.flags,
            return_address: event.return_address,
            object: event.object,
            reference_count: event.reference_count,
            current_tstate: event.current_tstate,
            own_tstate: event.own_tstate,
            detach_module: event.detach_module,
            detach_slot: event.detach_slot,
            detach_return_address: event.detach_return_address,
            thread_name: layout::text(&event.thread_name),
            type_name: layout::text(&event.type_name),
        });
        Some(())
    }

    fn read_stack(&mut self, body: &[u8]) -> Option<()> {
        let (record, rest) = layout::StackRecord::read_from_prefix(body).ok()?;
        let memory = rest.get(..usize::try_from(record.length).ok()?)?;
        record.start.checked_add(record.length)?;
        self.stacks.push(StackMemory {
            sequence: record.sequence,
            registers: record.registers,
            start: record.start,
            bytes: memory.to_owned(),
        });
        Some(())
    }

    fn read_python_stack(&mut self, body: &[u8]) -> Option<()> {
        let (record, mut rest) = layout::PythonStackRecord::read_from_prefix(body).ok()?;
        let mut frames = Vec::new();
        for _ in 0..record.frames {
            let (entry, text) = layout::PythonFrameEntry::read_from_prefix(rest).ok()?;
            let (file, text) = text.split_at_checked(entry.file_length.into())?;
            let function = text.get(..entry.function_length.into())?;
            frames.push(PythonFrame {
                line: entry.line,
                file: String::from_utf8_lossy(file).into_owned(),
                function: String::from_utf8_lossy(function).into_owned(),
            });
            let used = size_of::<layout::PythonFrameEntry>() + file.len() + function.len();
            rest = rest.get(used.next_multiple_of(4)..).unwrap_or_default();
        }
        self.python_stacks.push(PythonStack {
            sequence: record.sequence,
            thread_id: record.thread_id,
            native_thread_id: record.native_thread_id,
            is_event_thread: record.is_event_thread == 1,
            truncated: record.truncated != 0,
            frames,
        });
        Some(())
    }
}

/// The items of a table, if the table lies inside the file.
fn table<T: FromBytes>(
    bytes: &[u8],
    offset: u32,
    capacity: u32,
) -> Option<impl Iterator<Item = T> + '_> {
    let size = size_of::<T>().checked_mul(capacity as usize)?;
    let offset = offset as usize;
    let table = bytes.get(offset..offset.checked_add(size)?)?;
    Some(
        table
            .chunks_exact(size_of::<T>())
            .filter_map(|item| T::read_from_bytes(item).ok()),
    )
}

/// The kind, body and whole size of the record at the start of `bytes`, if it is complete.
fn complete_record(bytes: &[u8]) -> Option<(u16, &[u8], usize)> {
    let (header, _) = RecordHeader::read_from_prefix(bytes).ok()?;
    let size = usize::try_from(header.size).ok()?;
    let well_formed = header.magic == layout::RECORD_MAGIC
        && size >= size_of::<RecordHeader>()
        && size.is_multiple_of(8);
    let record = bytes.get(..size).filter(|_| well_formed)?;
    Some((header.kind, &record[size_of::<RecordHeader>()..], size))
}
