//! The fuzzer's bytes as a trace, and a trace as the fuzzer's bytes.
//!
//! A trace begins with a long header and two tables that are mostly empty, and its records have
//! sizes that must fit: almost every mutation of one would break it at the front door. So the
//! fuzzer's bytes hold only what is worth changing, and the rest is put around it:
//!
//! * one byte: [`RAW`] takes what follows as a trace as it is;
//! * any other value: the [`Fields`] of the header, the numbers of call sites and threads (one byte
//!   each), these, and then records, each a kind (two bytes), the length of its body (two bytes)
//!   and the body.

use refsan_trace::layout::{
    self, Header, ModuleRecord, PythonFrameEntry, PythonStackRecord, RecordHeader, SiteEntry,
    StackRecord, ThreadEntry, record_kind,
};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout};

/// The first byte of an input that is a trace as it is.
pub const RAW: u8 = 0xff;
/// The first byte of other inputs, as [`to_input`] writes it.
const PARTS: u8 = 0;

/// A kind that is never used for a record: the body stands in the trace without a record's header.
const LOOSE: u16 = 0xffff;

/// The fields of the header that a reader looks at.
#[repr(C)]
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
struct Fields {
    watch_state: u32,
    pid: u32,
    python_version: u32,
    python_build: u32,
    started_monotonic: u64,
    sequence: u64,
    finalizing_seen: u64,
    finalized_seen: u64,
    ended: u64,
    /// Bytes that the cursor lies before the end of the file.
    unfinished: u64,
}

/// The trace that the fuzzer's bytes stand for.
pub fn from_input(input: &[u8]) -> Vec<u8> {
    match input.split_first() {
        Some((&RAW, trace)) => trace.to_vec(),
        Some((_, parts)) => from_parts(parts).unwrap_or_else(|| parts.to_vec()),
        None => Vec::new(),
    }
}

fn from_parts(parts: &[u8]) -> Option<Vec<u8>> {
    let (fields, rest) = Fields::read_from_prefix(parts).ok()?;
    let (&[sites, threads], rest) = rest.split_first_chunk()?;
    let sites_size = usize::from(sites) * size_of::<SiteEntry>();
    let threads_size = usize::from(threads) * size_of::<ThreadEntry>();
    let (tables, mut records) = rest.split_at_checked(sites_size + threads_size)?;
    let start = size_of::<Header>();
    let mut bytes = vec![0; start];
    bytes.extend_from_slice(tables);
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    let records_offset = bytes.len();
    while let Some((&[a, b, c, d], rest)) = records.split_first_chunk() {
        let (kind, length) = (u16::from_le_bytes([a, b]), u16::from_le_bytes([c, d]));
        let (body, rest) = rest.split_at(rest.len().min(length.into()));
        append(&mut bytes, kind, body);
        records = rest;
    }
    let mut header = Header::new_zeroed();
    header.magic = layout::MAGIC;
    header.version = layout::VERSION;
    header.header_size = start as u32;
    header.sites_offset = start as u32;
    header.sites_capacity = sites.into();
    header.threads_offset = (start + sites_size) as u32;
    header.threads_capacity = threads.into();
    header.records_offset = records_offset as u32;
    header.watch_state = fields.watch_state;
    header.pid = fields.pid;
    header.python_version = fields.python_version;
    header.python_build = fields.python_build;
    header.started_monotonic = fields.started_monotonic;
    header.sequence = fields.sequence;
    header.finalizing_seen = fields.finalizing_seen;
    header.finalized_seen = fields.finalized_seen;
    header.ended = fields.ended;
    header.cursor = (bytes.len() as u64).wrapping_sub(fields.unfinished);
    header.write_to_prefix(&mut bytes).ok()?;
    Some(bytes)
}

fn append(bytes: &mut Vec<u8>, kind: u16, body: &[u8]) {
    let start = bytes.len();
    if kind != LOOSE {
        let size = (size_of::<RecordHeader>() + body.len()).next_multiple_of(8) as u64;
        let header = RecordHeader {
            magic: layout::RECORD_MAGIC,
            kind,
            reserved: 0,
            size,
        };
        bytes.extend_from_slice(header.as_bytes());
    }
    bytes.extend_from_slice(body);
    let whole = (bytes.len() - start).next_multiple_of(8);
    bytes.resize(start + whole, 0);
}

/// Most bytes of stack memory in an input that is made from a trace: more teaches the fuzzer
/// nothing.
const STACK_LIMIT: usize = 256;

/// The fuzzer's bytes for a trace that refsan wrote. What would tell of the machine that it was
/// written on is left out: directories, arguments, and text in stack memory.
pub fn to_input(trace: &[u8]) -> Option<Vec<u8>> {
    let (header, _) = Header::read_from_prefix(trace).ok()?;
    let end = trace.len().min(header.cursor as usize);
    let fields = Fields {
        watch_state: header.watch_state,
        pid: header.pid,
        python_version: header.python_version,
        python_build: header.python_build,
        started_monotonic: header.started_monotonic,
        sequence: header.sequence,
        finalizing_seen: header.finalizing_seen,
        finalized_seen: header.finalized_seen,
        ended: header.ended,
        unfinished: 0,
    };
    let sites = used::<SiteEntry>(trace, header.sites_offset, header.sites_capacity);
    let threads = used::<ThreadEntry>(trace, header.threads_offset, header.threads_capacity);
    let mut input = vec![PARTS];
    input.extend_from_slice(fields.as_bytes());
    input.push((sites.len() / size_of::<SiteEntry>()) as u8);
    input.push((threads.len() / size_of::<ThreadEntry>()) as u8);
    input.extend(sites);
    input.extend(threads);
    let mut rest = trace.get(header.records_offset as usize..end)?;
    while let Ok((record, _)) = RecordHeader::read_from_prefix(rest) {
        let (whole, after) = rest.split_at_checked(record.size as usize)?;
        let body = whole.get(size_of::<RecordHeader>()..)?;
        let body = match record.kind {
            record_kind::MODULE => without_directory(body)?,
            record_kind::STACK => without_text(body)?,
            record_kind::PYTHON_STACK => without_directories(body)?,
            _ => body.to_vec(),
        };
        if let Ok(length) = u16::try_from(body.len()) {
            input.extend_from_slice(&record.kind.to_le_bytes());
            input.extend_from_slice(&length.to_le_bytes());
            input.extend(body);
        }
        rest = after;
    }
    Some(input)
}

/// The entries of a table that are not zero; not more than a byte can count.
fn used<T>(trace: &[u8], offset: u32, capacity: u32) -> Vec<u8> {
    let size = size_of::<T>();
    let table = trace.get(offset as usize..).unwrap_or_default();
    let entries = table.chunks_exact(size).take(capacity as usize);
    let used = entries.filter(|entry| entry.iter().any(|byte| *byte != 0));
    used.take(255).flatten().copied().collect()
}

fn base_name(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or(path)
}

fn without_directory(body: &[u8]) -> Option<Vec<u8>> {
    let (mut record, rest) = ModuleRecord::read_from_prefix(body).ok()?;
    let name = base_name(rest.get(..record.path_length.into())?);
    record.path_length = name.len() as u16;
    Some([record.as_bytes(), name].concat())
}

fn without_text(body: &[u8]) -> Option<Vec<u8>> {
    let (mut record, memory) = StackRecord::read_from_prefix(body).ok()?;
    let mut memory = memory.get(..memory.len().min(STACK_LIMIT))?.to_vec();
    record.length = record.length.min(memory.len() as u64);
    let is_text = |byte: &u8| byte.is_ascii_graphic() || *byte == b' ';
    for run in memory.chunk_by_mut(|a, b| is_text(a) && is_text(b)) {
        if run.len() >= 4 {
            run.fill(0);
        }
    }
    Some([record.as_bytes(), &memory].concat())
}

fn without_directories(body: &[u8]) -> Option<Vec<u8>> {
    let (record, mut rest) = PythonStackRecord::read_from_prefix(body).ok()?;
    let mut out = record.as_bytes().to_vec();
    for _ in 0..record.frames {
        let (mut entry, text) = PythonFrameEntry::read_from_prefix(rest).ok()?;
        let (file, text) = text.split_at_checked(entry.file_length.into())?;
        let function = text.get(..entry.function_length.into())?;
        let used = size_of::<PythonFrameEntry>() + file.len() + function.len();
        rest = rest.get(used.next_multiple_of(4)..).unwrap_or_default();
        let file = base_name(file);
        entry.file_length = file.len() as u16;
        out.extend([entry.as_bytes(), file, function].concat());
        out.resize(out.len().next_multiple_of(4), 0);
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use refsan_trace::Trace;
    use std::path::Path;

    #[test]
    fn every_seed_is_a_trace_without_damage_that_has_all_that_matters() {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds/traces");
        let (mut events, mut threads, mut detections) = (0, 0, 0);
        for entry in std::fs::read_dir(directory).unwrap() {
            let input = std::fs::read(entry.unwrap().path()).unwrap();
            let trace = Trace::parse(Path::new("seed"), &from_input(&input)).unwrap();
            assert_eq!(trace.damage, []);
            assert!(trace.modules.iter().any(|module| !module.slots.is_empty()));
            assert!(!trace.stacks.is_empty() && !trace.sites.is_empty());
            assert!(
                trace
                    .modules
                    .iter()
                    .all(|module| !module.path.contains('/'))
            );
            events += trace.events.len();
            threads += trace.threads.len();
            detections += refsan_detect::detect(&trace).len();
        }
        assert!(events > 0 && threads > 0 && detections > 0);
    }

    #[test]
    fn a_trace_as_it_is_stays_as_it_is() {
        assert_eq!(from_input(&[RAW, 1, 2]), [1, 2]);
        assert!(from_input(&[]).is_empty());
    }
}
