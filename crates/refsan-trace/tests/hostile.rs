//! The reader, on traces that were cut, damaged or made up.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::LazyLock;

use proptest::prelude::*;
use refsan_trace::layout::{
    self, Event, ModuleRecord, PythonFrameEntry, PythonStackRecord, SlotEntry, SlotsRecord,
    StackRecord, record_kind,
};
use refsan_trace::{SiteKey, Trace, Writer};
use zerocopy::{FromZeros, IntoBytes};

const EVENTS: u64 = 20;

/// A trace with every kind of record.
static WHOLE: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.rstrace");
    let writer =
        Writer::create(&CString::new(path.as_os_str().as_bytes()).unwrap(), |_| {}).unwrap();
    let mut module = ModuleRecord::new_zeroed();
    module.path_length = 6;
    writer.append(record_kind::MODULE, &[module.as_bytes(), b"ext.so"]);
    let mut slot = SlotEntry::new_zeroed();
    slot.name_length = 4;
    slot.name[..4].copy_from_slice(b"func");
    let slots = SlotsRecord {
        module: 0,
        count: 1,
    };
    writer.append(record_kind::SLOTS, &[slots.as_bytes(), slot.as_bytes()]);
    for sequence in 1..=EVENTS {
        let key = SiteKey {
            return_address: sequence,
            module: 0,
            slot: 0,
            kind: 1,
            life: 1,
        };
        writer.count_fault(key);
        let mut event = Event::new_zeroed();
        event.sequence = sequence;
        writer.append(record_kind::EVENT, &[event.as_bytes()]);
        let mut stack = StackRecord::new_zeroed();
        (stack.sequence, stack.length) = (sequence, 64);
        writer.append(record_kind::STACK, &[stack.as_bytes(), &[7; 64]]);
        let mut python = PythonStackRecord::new_zeroed();
        (python.sequence, python.frames) = (sequence, 1);
        let frame = PythonFrameEntry {
            line: 3,
            file_length: 4,
            function_length: 1,
        };
        let text = b"a.pyf\0\0\0";
        writer.append(
            record_kind::PYTHON_STACK,
            &[python.as_bytes(), frame.as_bytes(), text],
        );
    }
    std::fs::read(&path).unwrap()
});

fn parse(bytes: &[u8]) -> Option<Trace> {
    Trace::parse(Path::new("t.rstrace"), bytes).ok()
}

#[test]
fn the_whole_trace_is_whole() {
    let trace = parse(&WHOLE).unwrap();
    assert_eq!(trace.damage, []);
    assert_eq!((trace.modules.len(), trace.modules[0].slots.len()), (1, 1));
    assert_eq!(
        (trace.events.len(), trace.stacks.len()),
        (EVENTS as usize, EVENTS as usize)
    );
    assert_eq!(trace.python_stacks[0].frames[0].function, "f");
    assert_eq!(trace.sites.len(), EVENTS as usize);
}

proptest! {
    #[test]
    fn a_cut_never_makes_anything_up(cut in 0..WHOLE.len()) {
        if let Some(trace) = parse(&WHOLE[..cut]) {
            let sequences: Vec<u64> = trace.events.iter().map(|event| event.sequence).collect();
            prop_assert_eq!(sequences, (1..=trace.events.len() as u64).collect::<Vec<_>>());
            prop_assert!(trace.stacks.len() <= EVENTS as usize);
        } else {
            prop_assert!(cut < size_of::<layout::Header>());
        }
    }

    #[test]
    fn damage_is_survived(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..40)) {
        let mut bytes = WHOLE.clone();
        // Half of the changes hit the records, which are a small part of the file.
        for (number, (place, value)) in changes.iter().enumerate() {
            let first = if number % 2 == 0 { 0 } else { layout::RECORDS_OFFSET as usize };
            let place = first + place.index(bytes.len() - first);
            bytes[place] = *value;
        }
        if let Some(trace) = parse(&bytes) {
            prop_assert!(trace.events.len() <= EVENTS as usize + changes.len());
        }
    }

    #[test]
    fn noise_behind_a_header_is_survived(noise in prop::collection::vec(any::<u8>(), 0..4096)) {
        let mut bytes = WHOLE[..layout::RECORDS_OFFSET as usize].to_vec();
        bytes.extend(&noise);
        prop_assert!(parse(&bytes).is_some());
        prop_assert!(parse(&noise).is_none());
    }
}
