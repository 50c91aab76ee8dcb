//! Free-threaded builds, and memory that is freed, torn or random: an answer or none, never a panic
//! or an endless walk.

#[path = "support/image.rs"]
mod image;

use image::{
    Build, CODE, FILENAME, FRAMES, INTERPRETER, Image, RUNTIME, THREADS, builds, image as intact,
};
use proptest::prelude::{ProptestConfig, any, prop, proptest};
use refsan_interpreter::{
    Ending, Frame, Layout, Memory, ObjectLayout, Thread, ThreadVisitor, Unsupported, Version,
    for_each_frame, for_each_thread, object_type_name, reference_count,
};

#[derive(Default)]
struct Collector {
    threads: Vec<Thread>,
    frames: Vec<(String, String, u32)>,
    endings: Vec<Ending>,
}

impl ThreadVisitor for Collector {
    fn thread(&mut self, thread: &Thread) -> u32 {
        self.threads.push(*thread);
        16
    }

    fn frame(&mut self, frame: &Frame<'_>) {
        self.frames.push((
            frame.filename.to_owned(),
            frame.function.to_owned(),
            frame.line,
        ));
    }

    fn frames_end(&mut self, ending: Ending) {
        self.endings.push(ending);
    }
}

fn layout(build: &Build) -> Layout {
    Layout::select(build.version, &intact(build), RUNTIME).unwrap()
}

fn walk(memory: &impl Memory, layout: &Layout) -> (Collector, Ending) {
    let mut collector = Collector::default();
    let ending = for_each_thread(memory, layout, RUNTIME, &mut collector);
    (collector, ending)
}

#[test]
fn free_threaded_builds() {
    for build in builds() {
        let memory = intact(&build);
        let layout = layout(&build);
        let (seen, ending) = walk(&memory, &layout);
        assert_eq!(ending, Ending::Complete);
        assert_eq!(seen.endings, [Ending::Complete; 2]);
        let ids: Vec<_> = seen
            .threads
            .iter()
            .map(|t| (t.thread_id, t.native_thread_id))
            .collect();
        assert_eq!(ids, [(0x7000, Some(100)), (0x7001, Some(101))]);
        let frame = |line| {
            (
                "/home/日本/script.py".to_owned(),
                "größe.<locals>.函数".to_owned(),
                line,
            )
        };
        assert_eq!(
            seen.frames,
            [frame(12), frame(10), frame(11)],
            "{}",
            build.version
        );

        let mut name = [0; 16];
        assert_eq!(
            object_type_name(&memory, &layout.objects, CODE, &mut name),
            Some("code")
        );
        let count = reference_count(&memory, &layout.objects, CODE).unwrap();
        assert_eq!((count.value, count.immortal), (5, false));
        let mut memory = memory;
        memory.word(CODE, 16, (-2_i64 << 2).cast_unsigned());
        assert_eq!(
            reference_count(&memory, &layout.objects, CODE)
                .unwrap()
                .value,
            1
        );
        memory.put(CODE, 12, &u32::MAX.to_ne_bytes());
        assert!(
            reference_count(&memory, &layout.objects, CODE)
                .unwrap()
                .immortal
        );
    }
}

#[test]
fn names_that_are_too_long_keep_their_end() {
    let [build, ..] = builds();
    let mut memory = intact(&build);
    memory.string(
        FILENAME,
        &format!("{}.py", "目".repeat(5000)),
        build.string_state,
    );
    let (seen, _) = walk(&memory, &layout(&build));
    let (filename, ..) = &seen.frames[0];
    assert!(
        filename.starts_with("…目") && filename.ends_with("目.py"),
        "{filename}"
    );
    assert!(filename.len() <= 512 && filename.len() > 450);
}

#[test]
fn circles_and_ends() {
    for build in builds() {
        let layout = layout(&build);
        let changed = |address, offset, value| {
            let mut memory = intact(&build);
            memory.word(address, offset, value);
            walk(&memory, &layout)
        };
        for (address, offset, target) in [
            (THREADS[1], 8, THREADS[0]),
            (THREADS[0], 8, THREADS[0]),
            (THREADS[1], 8, RUNTIME),
        ] {
            let (seen, ending) = changed(address, offset, target);
            assert_eq!(ending, Ending::Unreadable);
            assert!((1..=8).contains(&seen.threads.len()));
        }
        let (seen, ending) = changed(FRAMES[4], 8, FRAMES[0]);
        assert_eq!(
            (ending, seen.endings[0]),
            (Ending::Complete, Ending::Unreadable)
        );
        assert!((3..=12).contains(&seen.frames.len()));
        // An interpreter list that leads back, and the empty one of after finalization.
        let mut memory = intact(&build);
        let next = if build.version.minor() == 14 {
            7272
        } else {
            7264
        };
        memory.word(INTERPRETER, next, INTERPRETER);
        assert_eq!(walk(&memory, &layout).1, Ending::Unreadable);
        let head = [632, 808, 936][usize::from(build.version.minor() - 13)];
        let (seen, ending) = changed(RUNTIME, head, 0);
        assert_eq!((seen.threads.len(), ending), (0, Ending::Complete));
    }
}

#[test]
fn freed_memory_is_never_invented() {
    for build in builds() {
        let layout = layout(&build);
        let whole = walk(&intact(&build), &layout).0.frames;
        for piece in intact(&build).pieces.keys() {
            let mut memory = intact(&build);
            memory.pieces.remove(piece);
            for (filename, function, line) in walk(&memory, &layout).0.frames {
                let known = whole.iter().any(|(f, n, l)| {
                    (filename.is_empty() || filename == *f)
                        && (function.is_empty() || function == *n)
                        && (line == 0 || line == *l)
                });
                assert!(known, "{filename} {function} {line} without {piece:#x}");
            }
        }
    }
}

#[test]
fn what_is_no_runtime_is_refused() {
    let [build, newer, _] = builds();
    let memory = intact(&build);
    let select = |hex, free_threaded, address| {
        Layout::select(Version::from_hex(hex, free_threaded), &memory, address).unwrap_err()
    };
    assert!(matches!(
        select(0x0307_0cf0, false, RUNTIME),
        Unsupported::Version(_)
    ));
    assert!(matches!(
        select(0x0310_00f0, false, RUNTIME),
        Unsupported::Version(_)
    ));
    assert!(matches!(
        select(0x030c_00f0, true, RUNTIME),
        Unsupported::Version(_)
    ));
    assert!(matches!(
        select(0x030f_00b2, false, RUNTIME),
        Unsupported::Unsettled(_)
    ));
    assert!(matches!(
        select(0x030d_00f0, true, 0),
        Unsupported::Unreadable(_)
    ));
    assert!(matches!(
        select(0x030c_00f0, false, 0),
        Unsupported::Unreadable(_)
    ));
    assert!(matches!(
        select(0x030d_00f0, true, CODE),
        Unsupported::Cookie { .. }
    ));
    assert!(matches!(
        select(newer.version.hex(), true, RUNTIME),
        Unsupported::OtherVersion { .. }
    ));
    assert!(matches!(
        select(0x030d_00f0, false, RUNTIME),
        Unsupported::OtherBuild { .. }
    ));
    for place in (24..584).step_by(8) {
        let mut memory = memory.clone();
        memory.word(RUNTIME, place, u64::MAX - 3);
        // Either the word is not used, or it is refused.
        let found = Layout::select(build.version, &memory, RUNTIME);
        assert!(matches!(found, Err(Unsupported::Offset { .. })) || found == Ok(layout(&build)));
    }
}

/// Layouts of all versions: those before 3.13 need no description.
fn layouts() -> Vec<Layout> {
    let readable = Uniform { word: 0, free: 0 };
    let old = (8..=12).map(|minor| {
        let version = Version::from_hex(0x0300_00f0 | minor << 16, false);
        Layout::select(version, &readable, RUNTIME).unwrap()
    });
    old.chain(builds().iter().map(layout)).collect()
}

/// Memory in which every word is the same, or depends on its address, and leads to another one.
struct Uniform {
    word: u64,
    /// Bits that depend on the address.
    free: u64,
}

impl Memory for Uniform {
    fn read(&self, address: u64, buffer: &mut [u8]) -> bool {
        assert!(address.checked_add(buffer.len() as u64).is_some());
        for (address, byte) in (address..).zip(buffer) {
            let mixed = (address / 8)
                .wrapping_mul(0x9E37_79B9_7F4A_7C15)
                .rotate_left(29);
            let word = self.word & !self.free | mixed & self.free;
            *byte = word.to_ne_bytes()[(address % 8) as usize];
        }
        true
    }
}

fn use_everything(memory: &impl Memory, layout: &Layout, address: u64) {
    let (seen, _) = walk(memory, layout);
    assert!(seen.frames.len() <= 16 * seen.threads.len());
    for_each_frame(memory, layout, address, u32::MAX, &mut |_| {});
    let mut name = [0; 40];
    object_type_name(memory, &layout.objects, address, &mut name);
    reference_count(memory, &layout.objects, address);
    let _ = Layout::select(layout.version, memory, address);
}

#[test]
fn memory_that_leads_to_itself() {
    for layout in layouts() {
        // Aligned addresses that also look like the flags of a type that is everything at once.
        for word in [
            0x9800_1000,
            0x7F00_9800_1008,
            0x9800_1238,
            0,
            0x1000,
            u64::MAX,
            0x3030_3030_3030,
        ] {
            for free in [0, 0x0FFF_0000_0FF8, 0xFFF8, u64::MAX] {
                use_everything(&Uniform { word, free }, &layout, word);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_memory(word: u64, free: u64, address: u64) {
        for layout in layouts() {
            use_everything(&Uniform { word, free }, &layout, address & 0x7FFF_FFFF_FFF8);
        }
    }

    #[test]
    fn random_damage(
        which in 0..3_usize,
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<u64>(), 0..4), 1..8),
    ) {
        let build = &builds()[which];
        let layout = layout(build);
        let mut memory: Image = intact(build);
        let pieces: Vec<u64> = memory.pieces.keys().copied().collect();
        for (piece, offset, value, kind) in damage {
            let address = pieces[piece.index(pieces.len())];
            let offset = offset.index(memory.pieces[&address].len().max(1)) as u64;
            match kind {
                0 => memory.put(address, offset, &[value as u8]),
                1 => memory.word(address, offset & !7, value),
                2 => memory.word(address, offset & !7, pieces[value as usize % pieces.len()]),
                _ => memory.pieces.get_mut(&address).unwrap().truncate(offset as usize),
            }
        }
        use_everything(&memory, &layout, THREADS[0]);
        for address in pieces {
            let mut name = [0; 40];
            object_type_name(&memory, &layout.objects, address, &mut name);
        }
        assert!(memory.reads.get() < 1_000_000, "{} reads", memory.reads.get());
    }

    #[test]
    fn random_versions(hex: u32, free_threaded: bool) {
        let version = Version::from_hex(hex, free_threaded);
        let known = ObjectLayout::of(version).is_ok();
        assert_eq!(known, Layout::select(version, &intact(&builds()[0]), RUNTIME).is_ok()
            || known && version.minor() >= 13);
    }
}
