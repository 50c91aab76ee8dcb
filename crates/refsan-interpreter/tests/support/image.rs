//! The memory of a free-threaded interpreter, built by hand: such builds are seldom at hand, and
//! memory that is damaged on purpose needs to be made anyway.
//!
//! Offsets are those that `offsets/offsets.c` prints with `-DPy_GIL_DISABLED=1`.

use refsan_interpreter::{Memory, Version};
use std::cell::Cell;
use std::collections::BTreeMap;

pub const RUNTIME: u64 = 0x10_0000;
pub const INTERPRETER: u64 = 0x20_0000;
pub const THREADS: [u64; 2] = [0x30_0000, 0x30_1000];
pub const FRAMES: [u64; 5] = [0x40_0000, 0x40_0100, 0x40_0200, 0x40_0300, 0x40_0400];
pub const CODE: u64 = 0x50_0000;
pub const COPY: u64 = 0x51_0000;
const COPIES: u64 = 0x52_0000;
const TYPE: u64 = 0x60_0000;
const CODE_TYPE: u64 = 0x60_1000;
const STRING_TYPE: u64 = 0x60_2000;
const BYTES_TYPE: u64 = 0x60_3000;
pub const FILENAME: u64 = 0x72_0000;
const FUNCTION: u64 = 0x70_1000;
const LINES: u64 = 0x70_2000;
const NAMES: u64 = 0x71_0000;

/// What differs between the versions.
pub struct Build {
    pub version: Version,
    description: &'static str,
    interpreters_head: u64,
    id: u64,
    next: u64,
    threads_head: u64,
    thread_id: u64,
    owner: u64,
    /// First traceable instruction, copies of the bytecode, the bytecode.
    body: (u64, Option<u64>, u64),
    pub string_state: u32,
}

/// Free-threaded builds.
pub fn builds() -> [Build; 3] {
    [
        Build {
            version: Version::from_hex(0x030d_00f0, true),
            description: include_str!("../fixtures/debug_offsets/3.13t.txt"),
            interpreters_head: 632,
            id: 7272,
            next: 7264,
            threads_head: 7344,
            thread_id: 152,
            owner: 70,
            body: (200, None, 216),
            string_state: 0x20 | 2 << 2,
        },
        Build {
            version: Version::from_hex(0x030e_0af0, true),
            description: include_str!("../fixtures/debug_offsets/3.14t.txt"),
            interpreters_head: 808,
            id: 7280,
            next: 7272,
            threads_head: 7344,
            thread_id: 152,
            owner: 78,
            body: (208, Some(224), 232),
            string_state: 1 | 0x800 | 2 << 8,
        },
        Build {
            version: Version::from_hex(0x030f_02f0, true),
            description: include_str!("../fixtures/debug_offsets/3.15t.txt"),
            interpreters_head: 936,
            id: 7272,
            next: 7264,
            threads_head: 7336,
            thread_id: 176,
            owner: 78,
            body: (208, Some(224), 232),
            string_state: 3 | 0x800 | 2 << 8,
        },
    ]
}

/// Pieces of memory by address, and how often they were read.
#[derive(Clone, Default)]
pub struct Image {
    pub pieces: BTreeMap<u64, Vec<u8>>,
    pub reads: Cell<u64>,
}

impl Memory for Image {
    fn read(&self, address: u64, buffer: &mut [u8]) -> bool {
        self.reads.set(self.reads.get() + 1);
        let Some((start, bytes)) = self.pieces.range(..=address).next_back() else {
            return false;
        };
        let start = (address - start) as usize;
        let Some(found) = start
            .checked_add(buffer.len())
            .and_then(|end| bytes.get(start..end))
        else {
            return false;
        };
        buffer.copy_from_slice(found);
        true
    }
}

impl Image {
    /// Writes `bytes` at `offset` in the piece at `address`, which is made as long as needed.
    pub fn put(&mut self, address: u64, offset: u64, bytes: &[u8]) {
        let piece = self.pieces.entry(address).or_default();
        let start = offset as usize;
        piece.resize(piece.len().max(start + bytes.len()), 0);
        piece[start..start + bytes.len()].copy_from_slice(bytes);
    }

    pub fn word(&mut self, address: u64, offset: u64, value: u64) {
        self.put(address, offset, &value.to_ne_bytes());
    }

    fn class(&mut self, address: u64, name: &str, flag: u64) {
        let place = address - TYPE + NAMES;
        self.put(place, 0, name.as_bytes());
        self.put(place, name.len() as u64, &[0; 64]);
        self.word(address, 24, TYPE);
        self.word(address, 40, place);
        self.word(address, 184, 1 << 12 | flag);
        self.word(address, 280, 0);
    }

    /// A `str` of two bytes a character.
    pub fn string(&mut self, address: u64, text: &str, state: u32) {
        let units: Vec<u16> = text.encode_utf16().collect();
        self.word(address, 24, STRING_TYPE);
        self.word(address, 32, units.len() as u64);
        self.put(address, 48, &state.to_ne_bytes());
        for (index, unit) in units.iter().enumerate() {
            self.put(address, 72 + 2 * index as u64, &unit.to_ne_bytes());
        }
    }

    fn frame(&mut self, build: &Build, index: usize, owner: u8, instruction: u64) {
        let address = FRAMES[index];
        // The lowest bit of a reference may be a tag since 3.14.
        let tag = u64::from(build.version.minor() >= 14);
        self.word(address, 0, CODE | tag);
        self.word(address, 8, FRAMES.get(index + 1).copied().unwrap_or(0));
        self.word(address, 56, instruction);
        self.put(address, build.owner, &[owner]);
        if build.body.1.is_some() {
            self.put(address, 72, &u32::from(index == 0).to_ne_bytes());
        }
    }
}

/// One interpreter with two threads. The first runs: a function in its own copy of the bytecode
/// (line 12), an entry from C, a function that is being set up, a generator that starts (line 10),
/// a function (line 11). The second runs nothing.
pub fn image(build: &Build) -> Image {
    let mut image = Image::default();
    for (index, word) in build.description.lines().enumerate() {
        image.word(RUNTIME, 8 * index as u64, word.parse().unwrap());
    }
    image.word(RUNTIME, build.interpreters_head, INTERPRETER);
    image.word(INTERPRETER, build.id, 0);
    image.word(INTERPRETER, build.next, 0);
    image.word(INTERPRETER, build.threads_head, THREADS[0]);
    for (index, thread) in THREADS.into_iter().enumerate() {
        image.word(thread, 8, THREADS.get(index + 1).copied().unwrap_or(0));
        image.word(thread, 16, INTERPRETER);
        image.word(thread, 72, if index == 0 { FRAMES[0] } else { 0 });
        image.word(thread, build.thread_id, 0x7000 + index as u64);
        image.word(thread, build.thread_id + 8, 100 + index as u64);
    }

    image.class(TYPE, "type", 1 << 31);
    image.class(CODE_TYPE, "code", 0);
    image.class(STRING_TYPE, "str", 1 << 28);
    image.class(BYTES_TYPE, "bytes", 1 << 27);
    let (first_traceable, copies, start) = build.body;
    image.put(CODE, 12, &3_u32.to_ne_bytes());
    image.word(CODE, 16, 2 << 2 | 3);
    image.word(CODE, 24, CODE_TYPE);
    image.put(CODE, 84, &10_i32.to_ne_bytes());
    image.word(CODE, 128, FILENAME);
    image.word(CODE, 144, FUNCTION);
    image.word(CODE, 152, LINES);
    image.put(CODE, first_traceable, &2_i32.to_ne_bytes());
    image.put(CODE, start, &[0; 32]);
    let first_copy = if let Some(copies) = copies {
        image.word(CODE, copies, COPIES);
        image.word(COPIES, 0, 2);
        image.word(COPIES, 8, CODE + start);
        image.word(COPIES, 16, COPY);
        COPY
    } else {
        CODE + start
    };
    image.put(COPY, 0, &[0; 32]);
    image.string(FILENAME, "/home/日本/script.py", build.string_state);
    image.string(FUNCTION, "größe.<locals>.函数", build.string_state);
    // Four units at line 10, two at 11, two at 12.
    let lines = [
        0x80 | 13 << 3 | 3,
        0,
        0x80 | 11 << 3 | 1,
        0,
        0,
        0x80 | 13 << 3 | 1,
        2,
    ];
    image.word(LINES, 24, BYTES_TYPE);
    image.word(LINES, 32, lines.len() as u64);
    image.put(LINES, 48, &lines);

    image.frame(build, 0, 0, first_copy + 14);
    image.frame(build, 1, 3, 0);
    image.frame(build, 2, 0, CODE + start + 2);
    image.frame(build, 3, 1, CODE + start + 2);
    image.frame(build, 4, 0, CODE + start + 8);
    image
}
