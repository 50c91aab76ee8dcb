use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use zerocopy::{FromZeros, IntoBytes};

use super::*;
use crate::{Trace, layout::event_kind};

fn new_trace(directory: &Path) -> (PathBuf, Writer) {
    let path = directory.join("t.rstrace");
    let c_path = CString::new(path.as_os_str().as_bytes()).unwrap();
    let writer = Writer::create(&c_path, |header| header.pid = 7).unwrap();
    (path, writer)
}

fn event(sequence: u64) -> layout::Event {
    let mut event = layout::Event::new_zeroed();
    event.sequence = sequence;
    layout::set_text(&mut event.type_name, b"dict");
    event
}

fn key(return_address: u64) -> SiteKey {
    SiteKey {
        return_address,
        module: 1,
        slot: 2,
        kind: event_kind::CALL,
        life: 1,
    }
}

#[test]
fn what_is_written_is_read_although_the_writer_never_closed_it() {
    let directory = tempfile::tempdir().unwrap();
    let (path, writer) = new_trace(directory.path());
    assert_eq!(writer.count_fault(key(0x1000)), Some(0));
    assert_eq!(writer.count_fault(key(0x1000)), Some(1));
    assert_eq!(writer.count_fault(key(0x2000)), Some(0));
    writer
        .append(
            record_kind::EVENT,
            &[event(writer.next_sequence()).as_bytes()],
        )
        .unwrap();
    let trace = Trace::read(&path).unwrap();
    assert_eq!(trace.header.pid, 7);
    assert_eq!(
        trace
            .sites
            .iter()
            .map(|site| site.count)
            .collect::<Vec<_>>()
            .iter()
            .sum::<u64>(),
        3
    );
    assert_eq!(trace.events[0].type_name, "dict");
    assert_eq!(trace.damage, []);
}

#[test]
fn a_file_grows_and_a_full_one_counts_what_it_drops() {
    let directory = tempfile::tempdir().unwrap();
    let (path, writer) = new_trace(directory.path());
    let block = vec![7; 1024 * 1024];
    let mut kept = 0;
    while writer.append(record_kind::VOID, &[&block]).is_some() {
        kept += 1;
    }
    assert!((60..64).contains(&kept), "{kept}");
    writer.append(record_kind::VOID, &[&block]);
    let trace = Trace::read(&path).unwrap();
    assert_eq!(trace.header.dropped_records, 2);
    assert_eq!(trace.damage, []);
}

#[test]
fn a_full_table_of_sites_counts_what_it_drops() {
    let directory = tempfile::tempdir().unwrap();
    let (path, writer) = new_trace(directory.path());
    let found = (0..2000)
        .filter(|number| writer.count_fault(key(*number)).is_some())
        .count();
    assert_eq!(found, layout::SITES as usize);
    let trace = Trace::read(&path).unwrap();
    assert_eq!(trace.header.dropped_sites, 2000 - u64::from(layout::SITES));
    assert_eq!(trace.sites.len(), found);
}

#[test]
fn threads_that_write_at_once_lose_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let (path, writer) = new_trace(directory.path());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for number in 0..500 {
                    writer.count_fault(key(number % 50));
                    let event = event(writer.next_sequence());
                    writer
                        .append(record_kind::EVENT, &[event.as_bytes()])
                        .unwrap();
                }
            });
        }
    });
    let trace = Trace::read(&path).unwrap();
    let sequences: Vec<u64> = trace.events.iter().map(|event| event.sequence).collect();
    assert_eq!(sequences, (1..=2000).collect::<Vec<u64>>());
    assert_eq!(trace.sites.len(), 50);
    assert_eq!(trace.sites.iter().map(|site| site.count).sum::<u64>(), 2000);
}

#[test]
fn a_cut_trace_keeps_what_came_before_the_cut() {
    let directory = tempfile::tempdir().unwrap();
    let (path, writer) = new_trace(directory.path());
    for _ in 0..10 {
        writer
            .append(
                record_kind::EVENT,
                &[event(writer.next_sequence()).as_bytes()],
            )
            .unwrap();
    }
    let bytes = std::fs::read(&path).unwrap();
    let record = size_of::<RecordHeader>() + size_of::<layout::Event>();
    let cut = layout::RECORDS_OFFSET as usize + 4 * record + record / 2;
    let trace = Trace::parse(&path, &bytes[..cut]).unwrap();
    assert_eq!(trace.events.len(), 4);
    assert_eq!(trace.damage.len(), 1);
}

#[test]
fn a_record_that_was_not_completed_hides_no_other() {
    let directory = tempfile::tempdir().unwrap();
    let (path, writer) = new_trace(directory.path());
    for _ in 0..3 {
        writer
            .append(
                record_kind::EVENT,
                &[event(writer.next_sequence()).as_bytes()],
            )
            .unwrap();
    }
    let mut bytes = std::fs::read(&path).unwrap();
    let record = size_of::<RecordHeader>() + size_of::<layout::Event>();
    let second = layout::RECORDS_OFFSET as usize + record;
    bytes[second..second + 16].fill(0);
    let trace = Trace::parse(&path, &bytes).unwrap();
    let sequences: Vec<u64> = trace.events.iter().map(|event| event.sequence).collect();
    assert_eq!((sequences, trace.damage.len()), (vec![1, 3], 1));
}

#[test]
fn entries_of_dead_threads_are_taken_over_and_those_of_living_ones_are_not() {
    let directory = tempfile::tempdir().unwrap();
    let (path, writer) = new_trace(directory.path());
    for tid in 0..layout::THREADS {
        assert!(
            writer
                .take_thread(tid, [0; 16], |_| panic!("there is room"))
                .is_some()
        );
    }
    assert!(writer.take_thread(9000, [0; 16], |_| true).is_none());
    let cell = writer
        .take_thread(9001, *b"worker\0\0\0\0\0\0\0\0\0\0", |tid| tid != 17)
        .unwrap();
    let mut entry = ThreadEntry::new_zeroed();
    entry.since = 5;
    cell.enter(&entry);
    let trace = Trace::read(&path).unwrap();
    let attaching: Vec<(u32, &str)> = trace
        .threads
        .iter()
        .filter(|thread| thread.state == thread_entry_state::ATTACHING)
        .map(|thread| (thread.tid, thread.name.as_str()))
        .collect();
    assert_eq!(
        (attaching, trace.header.dropped_threads),
        (vec![(9001, "worker")], 1)
    );
}

#[test]
fn a_second_trace_never_overwrites_the_first() {
    let directory = tempfile::tempdir().unwrap();
    let (path, _writer) = new_trace(directory.path());
    let c_path = CString::new(path.as_os_str().as_bytes()).unwrap();
    let again = Writer::create(&c_path, |_| {});
    assert_eq!(again.err(), Some(CreateError::Open(Errno::EXIST)));
}
