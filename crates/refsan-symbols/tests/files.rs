//! The files of a recorded process may be gone, replaced or damaged when its stacks are named.

mod program;

use std::path::Path;

use program::{Snapshot, Workshop, functions};
use proptest::prelude::*;
use refsan_model::{Frame, SymbolQuality};
use refsan_symbols::{SymbolWarning, Symbolizer};
use refsan_trace::Slot;

const FLAGS: [&str; 3] = ["-O2", "-g", "-Wl,--build-id"];

fn calls() -> (Workshop, Snapshot) {
    let workshop = Workshop::new();
    workshop.compile("cc", &["calls.c", "capture.c"], &FLAGS, "calls");
    workshop.run("calls");
    let snapshot = workshop.snapshot("calls");
    (workshop, snapshot)
}

/// Where the slots of imported functions are in the program, or near it.
fn slots(snapshot: &Snapshot) -> Vec<Slot> {
    let offsets = (0x3fc0..0x4040).step_by(8).chain([0, u64::MAX]);
    let slot = |offset: u64| Slot {
        name: String::new(),
        calls: 0,
        address: snapshot.trace.modules[0].bias.wrapping_add(offset),
        flags: 0,
    };
    offsets.map(slot).collect()
}

/// Does everything that can be done with a snapshot.
fn use_all(snapshot: &Snapshot, symbolizer: &mut Symbolizer) -> (Vec<Frame>, SymbolQuality) {
    let trace = &snapshot.trace;
    let unwound = symbolizer.unwind(trace, &snapshot.stack);
    let addresses = unwound.addresses.iter();
    let frames = addresses.flat_map(|address| symbolizer.frames(trace, *address, true));
    let frames = frames.collect();
    symbolizer.exit_stage(trace, &unwound.addresses);
    for address in &unwound.addresses {
        symbolizer.function_covering(trace, *address);
        for slot in &slots(snapshot) {
            symbolizer.call_site(trace, &trace.modules[0], slot, *address);
        }
    }
    (frames, symbolizer.quality(&trace.modules[0]))
}

fn assert_no_names(snapshot: &Snapshot) -> Vec<SymbolWarning> {
    let mut symbolizer = Symbolizer::with_debug_directories(Vec::new());
    let (frames, quality) = use_all(snapshot, &mut symbolizer);
    assert_eq!(functions(&frames[..1]), ["?"]);
    assert_eq!(frames[0].module.as_deref(), Some("calls"));
    let offset = snapshot.stack.registers.rip - snapshot.trace.modules[0].bias;
    assert_eq!(frames[0].offset, Some(offset));
    assert_eq!(quality, SymbolQuality::Unknown);
    symbolizer.warnings().to_vec()
}

#[test]
fn a_replaced_file_names_nothing() {
    let (workshop, mut snapshot) = calls();
    let readelf = std::process::Command::new("readelf")
        .args(["-n"])
        .arg(workshop.path("calls"))
        .output()
        .expect("readelf is a part of binutils");
    let notes = String::from_utf8_lossy(&readelf.stdout).into_owned();
    let digits = notes.split("Build ID: ").nth(1).expect("a build id");
    let digits = digits.split_whitespace().next().unwrap().to_owned();
    let pairs = digits.as_bytes().chunks(2);
    let pairs = pairs.map(|pair| std::str::from_utf8(pair).unwrap());
    let build_id = pairs.map(|pair| u8::from_str_radix(pair, 16).unwrap());
    snapshot.trace.modules[0].build_id = build_id.collect();
    let (frames, _) = snapshot.frames();
    assert_eq!(&functions(&frames)[..2], ["inlined", "inner"]);

    let other = ["calls_library.c", "library.c", "capture.c"];
    workshop.compile("cc", &other, &FLAGS, "calls");
    let warnings = assert_no_names(&snapshot);
    let [
        SymbolWarning::Replaced {
            expected, found, ..
        },
    ] = &warnings[..]
    else {
        panic!("{warnings:?}");
    };
    assert_eq!(*expected, digits);
    assert_ne!(*found, digits);
    assert!(warnings[0].to_string().contains("was replaced"));
}

#[test]
fn useless_files_name_nothing() {
    let (workshop, snapshot) = calls();
    let path = workshop.path("calls");
    let whole = std::fs::read(&path).unwrap();
    let mut other_machine = whole.clone();
    other_machine[18] = 183;
    let mut contents = vec![Vec::new(), b"no binary".to_vec(), other_machine];
    contents.extend([16, 64, 200].map(|length| whole[..length].to_vec()));
    for contents in contents {
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, contents).unwrap();
        let warnings = assert_no_names(&snapshot);
        assert!(matches!(&warnings[..], [SymbolWarning::Unreadable { .. }]));
    }
    std::fs::remove_file(&path).unwrap();
    let warnings = assert_no_names(&snapshot);
    assert!(matches!(&warnings[..], [SymbolWarning::Unreadable { .. }]));
    std::fs::create_dir(&path).unwrap();
    let warnings = assert_no_names(&snapshot);
    assert!(warnings[0].to_string().contains("not a regular file"));
}

#[test]
fn a_file_without_its_section_table_is_read() {
    let (workshop, snapshot) = calls();
    let path = workshop.path("calls");
    let mut bytes = std::fs::read(&path).unwrap();
    // e_shoff, e_shnum and e_shstrndx
    bytes[40..48].fill(0);
    bytes[60..64].fill(0);
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, bytes).unwrap();
    let mut symbolizer = Symbolizer::with_debug_directories(Vec::new());
    let (frames, quality) = use_all(&snapshot, &mut symbolizer);
    assert_eq!(functions(&frames[..1]), ["?"]);
    assert_eq!(quality, SymbolQuality::None);
}

#[test]
fn addresses_outside_of_all_modules_have_no_names() {
    let (_workshop, mut snapshot) = calls();
    let mut symbolizer = Symbolizer::with_debug_directories(Vec::new());
    for address in [0, 1, 0x1234, u64::MAX] {
        let frames = symbolizer.frames(&snapshot.trace, address, true);
        assert_eq!(frames, [Frame::default()]);
        snapshot.stack.registers.rip = address;
        let unwound = symbolizer.unwind(&snapshot.trace, &snapshot.stack);
        assert_eq!(unwound.addresses[0], address);
    }
    snapshot.trace.modules.clear();
    let (frames, _) = (snapshot.frames(), ());
    assert!(frames.1.truncated);
}

fn damage(path: &Path, whole: &[u8], changes: &[(usize, u8)], length: usize) {
    let mut bytes = whole.to_vec();
    for (offset, value) in changes {
        let offset = offset % bytes.len();
        bytes[offset] = *value;
    }
    bytes.truncate(length.max(1));
    std::fs::remove_file(path).unwrap();
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn damaged_files_do_no_harm() {
    let (workshop, snapshot) = calls();
    let path = workshop.path("calls");
    let whole = std::fs::read(&path).unwrap();
    let length = whole.len();
    // Headers, tables and unwind information are small: changes there are drawn more often.
    let place = prop_oneof![
        0..64_usize,
        64..0x1000_usize,
        0x2000..0x2400_usize,
        0..length
    ];
    let place = prop_oneof![place, (length - 0x1000)..length];
    let changes = prop::collection::vec((place, any::<u8>()), 1..12);
    let end = prop_oneof![4 => Just(length), 1 => 0..length];
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        cases: 400,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let result = runner.run(&(changes, end), |(changes, end)| {
        damage(&path, &whole, &changes, end);
        let mut symbolizer = Symbolizer::with_debug_directories(Vec::new());
        use_all(&snapshot, &mut symbolizer);
        Ok(())
    });
    result.unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_stack_memory_ends_the_walk(
        words in prop::collection::vec(any::<u64>(), 0..64),
        rip in any::<u64>(), rsp in any::<u64>(), rbp in any::<u64>(),
    ) {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let registers = refsan_trace::layout::Registers { rip, rsp, rbp, ..Default::default() };
        for start in [rsp, rbp, u64::MAX - 8] {
            let stack = refsan_trace::StackMemory { sequence: 1, registers, start, bytes: bytes.clone() };
            let unwound = Symbolizer::new().unwind(&program::trace(Vec::new()), &stack);
            prop_assert!(unwound.addresses.len() <= refsan_symbols::FRAME_LIMIT);
        }
    }
}
