//! Writes a Mach-O file with one of everything.

/// Address of the image; not zero, so that offsets and addresses cannot be mixed up.
pub const BASE: u64 = 0x1_0000_0000;
/// Address of the data segment.
pub const DATA: u64 = BASE + 0x2000;

const CLASS: u64 = DATA + 0x40;
const METACLASS_DATA: u64 = DATA + 0x80;
const CLASS_DATA: u64 = DATA + 0xd0;
const SELECTOR_SLOT: u64 = DATA + 0x120;
const THREAD_VARIABLE: u64 = DATA + 0x130;
const METACLASS: u64 = DATA + 0x150;
const DATA_SIZE: usize = 0x1000;
const LINKEDIT: usize = 0x3000;

/// A word that dyld fills in.
#[derive(Clone, Copy)]
enum Word {
    Local(u64),
    /// Index in [`NAMES`].
    Import(u64),
}

const NAMES: [&str; 4] = [
    "__Py_Dealloc",
    "_PyInit_fixture",
    "_OBJC_CLASS_$_NSObject",
    "__tlv_bootstrap",
];

/// Every linked word, by address.
const WORDS: [(u64, Word); 13] = [
    (DATA, Word::Import(0)),
    (DATA + 8, Word::Import(1)),
    (DATA + 0x10, Word::Local(BASE + 0x1020)),
    (DATA + 0x18, Word::Local(CLASS)),
    (CLASS, Word::Local(METACLASS)),
    (CLASS + 8, Word::Import(2)),
    (CLASS + 32, Word::Local(CLASS_DATA)),
    (METACLASS_DATA + 0x18, Word::Local(BASE + 0x1100)),
    (CLASS_DATA + 0x18, Word::Local(BASE + 0x1100)),
    (CLASS_DATA + 0x20, Word::Local(BASE + 0x1120)),
    (SELECTOR_SLOT, Word::Local(BASE + 0x1108)),
    (THREAD_VARIABLE, Word::Import(3)),
    (METACLASS + 32, Word::Local(METACLASS_DATA)),
];

/// Builds the file.
pub struct Builder {
    bytes: Vec<u8>,
    commands: Vec<u8>,
    count: u32,
    linkedit: Vec<u8>,
}

impl Builder {
    /// With rebase and bind streams.
    pub fn streams() -> Vec<u8> {
        let mut builder = Self::new();
        let mut rebase = vec![0x11];
        let mut bind = Vec::new();
        for (address, word) in WORDS {
            match word {
                Word::Local(target) => {
                    builder.word(address, target);
                    rebase.push(0x21);
                    uleb(&mut rebase, address - DATA);
                    rebase.push(0x51);
                }
                Word::Import(index) => {
                    let name = NAMES[usize::try_from(index).unwrap()];
                    bind.extend([0x11, 0x40]);
                    bind.extend(name.bytes().chain([0]));
                    bind.extend([0x51, 0x71]);
                    uleb(&mut bind, address - DATA);
                    bind.push(0x90);
                }
            }
        }
        rebase.push(0);
        bind.push(0);
        let (rebase, bind) = (builder.append(&rebase), builder.append(&bind));
        let none = [0; 6].map(u32::to_le_bytes).concat();
        let parts = [rebase.0, rebase.1, bind.0, bind.1]
            .map(u32::to_le_bytes)
            .concat();
        builder.command(0x8000_0022, &[parts, none].concat());
        builder.finish()
    }

    /// With chained fixups of the 64-bit offset format.
    pub fn chained() -> Vec<u8> {
        let mut builder = Self::new();
        for (index, (address, word)) in WORDS.iter().enumerate() {
            let next = WORDS
                .get(index + 1)
                .map_or(0, |(next, _)| (next - address) / 4);
            let value = match word {
                Word::Local(target) => target - BASE,
                Word::Import(import) => 1 << 63 | import,
            };
            builder.word(*address, value | next << 51);
        }
        let mut imports = Vec::new();
        let mut strings = vec![0u8];
        for name in NAMES {
            let offset = u32::try_from(strings.len()).unwrap();
            imports.extend((offset << 9 | 1).to_le_bytes());
            strings.extend(name.bytes().chain([0]));
        }
        // Starts: of three segments only the second has a chain, in its first page.
        let mut starts = [3u32, 0, 16, 0].map(u32::to_le_bytes).concat();
        starts.extend(24u32.to_le_bytes());
        starts.extend([0x1000u16, 6].map(u16::to_le_bytes).concat());
        starts.extend((DATA - BASE).to_le_bytes());
        starts.extend(0u32.to_le_bytes());
        starts.extend([1u16, 0].map(u16::to_le_bytes).concat());
        let starts_at = 28u32;
        let imports_at = starts_at + u32::try_from(starts.len()).unwrap();
        let strings_at = imports_at + u32::try_from(imports.len()).unwrap();
        let header = [0, starts_at, imports_at, strings_at, 4, 1, 0];
        let header = header.map(u32::to_le_bytes).concat();
        let fixups = builder.append(&[header, starts, imports, strings].concat());
        builder.command(
            0x8000_0034,
            &[fixups.0, fixups.1].map(u32::to_le_bytes).concat(),
        );
        builder.finish()
    }

    /// Several files as slices of one.
    pub fn fat(slices: &[&[u8]]) -> Vec<u8> {
        let count = u32::try_from(slices.len()).unwrap();
        let mut bytes = [0xcafe_babe, count].map(u32::to_be_bytes).concat();
        let mut offset = 0x100u32;
        for slice in slices {
            let size = u32::try_from(slice.len()).unwrap();
            let fields = [0x0100_000c, 0, offset, size, 3];
            bytes.extend(fields.map(u32::to_be_bytes).concat());
            offset += size;
        }
        bytes.resize(0x100, 0);
        bytes.extend(slices.concat());
        bytes
    }

    fn new() -> Self {
        let mut builder = Self {
            bytes: vec![0; LINKEDIT],
            commands: Vec::new(),
            count: 0,
            linkedit: Vec::new(),
        };
        // The stub: adrp x16; ldr x16, [x16]; br x16.
        for (at, word) in [(0, 0xb000_0010u32), (4, 0xf940_0210), (8, 0xd61f_0200)] {
            builder.put(0x1080 + at, &word.to_le_bytes());
        }
        builder.put(0x1100, b"Holder\0\0.cxx_destruct\0");
        // One relative method: selector slot, types, function.
        let list = 0x1120u32;
        let relative = |target: u64, at: u32| {
            u32::try_from(target - BASE)
                .unwrap()
                .wrapping_sub(list + at)
        };
        let method = [
            0x8000_000c,
            1,
            relative(SELECTOR_SLOT, 8),
            0,
            relative(BASE + 0x1040, 16),
        ];
        builder.put(0x1120, &method.map(u32::to_le_bytes).concat());
        builder.word(THREAD_VARIABLE + 16, 0x18);
        builder.segments();
        builder.tables();
        builder
    }

    fn segments(&mut self) {
        let code = 0x8000_0400;
        let text = [
            section("__text", "__TEXT", BASE + 0x1000, 0x60, code),
            section("__stubs", "__TEXT", BASE + 0x1080, 12, code | 8),
            section("__cstring", "__TEXT", BASE + 0x1100, 0x80, 2),
        ];
        self.segment("__TEXT", BASE, 0x2000, 5, &text);
        let data = [
            section("__got", "__DATA", DATA, 16, 6),
            section("__mod_init_func", "__DATA", DATA + 0x10, 8, 9),
            section("__objc_classlist", "__DATA", DATA + 0x18, 8, 0),
            section("__objc_data", "__DATA", CLASS, 0xf0, 0),
            section("__thread_vars", "__DATA", THREAD_VARIABLE, 24, 0x13),
        ];
        self.segment("__DATA", DATA, DATA_SIZE as u64, 3, &data);
        self.segment("__LINKEDIT", BASE + LINKEDIT as u64, 0x1000, 1, &[]);
    }

    fn tables(&mut self) {
        let name = b"@rpath/libfixture.dylib\0";
        self.command(0xd, &[&[24, 0, 0, 0][..], &[0; 12], name].concat());
        let library = b"/usr/lib/libSystem.B.dylib\0\0\0\0\0\0";
        self.command(0xc, &[&[24, 0, 0, 0][..], &[0; 12], library].concat());
        self.command(0x1b, &[7; 16]);
        let mut starts = Vec::new();
        uleb(&mut starts, 0x1000);
        starts.extend([0x20, 0x20, 0]);
        let starts = self.append(&starts);
        self.command(0x26, &[starts.0, starts.1].map(u32::to_le_bytes).concat());
        // One defined external symbol in the first section, one undefined from library 1.
        let mut symbols = [2u32.to_le_bytes().to_vec(), vec![0x0f, 1, 0, 0]].concat();
        symbols.extend((BASE + 0x1000).to_le_bytes());
        symbols.extend([18u32.to_le_bytes().to_vec(), vec![0x01, 0, 0, 1]].concat());
        symbols.extend(0u64.to_le_bytes());
        let symbols = self.append(&symbols);
        let strings = self.append(b" \0_PyInit_fixture\0__Py_Dealloc\0");
        let fields = [symbols.0, 2, strings.0, strings.1];
        self.command(2, &fields.map(u32::to_le_bytes).concat());
    }

    fn put(&mut self, offset: usize, bytes: &[u8]) {
        self.bytes[offset..offset + bytes.len()].copy_from_slice(bytes);
    }

    fn word(&mut self, address: u64, value: u64) {
        let offset = usize::try_from(address - BASE).unwrap();
        self.put(offset, &value.to_le_bytes());
    }

    /// Adds to the last segment; gives offset and size.
    fn append(&mut self, bytes: &[u8]) -> (u32, u32) {
        let offset = u32::try_from(LINKEDIT + self.linkedit.len()).unwrap();
        self.linkedit.extend(bytes);
        self.linkedit
            .resize(self.linkedit.len().next_multiple_of(8), 0);
        (offset, u32::try_from(bytes.len()).unwrap())
    }

    fn command(&mut self, kind: u32, content: &[u8]) {
        let size = (8 + content.len()).next_multiple_of(8);
        self.commands.extend(kind.to_le_bytes());
        self.commands
            .extend(u32::try_from(size).unwrap().to_le_bytes());
        self.commands.extend(content);
        self.commands
            .resize(self.commands.len().next_multiple_of(8), 0);
        self.count += 1;
    }

    fn segment(&mut self, name: &str, address: u64, size: u64, access: u32, sections: &[Vec<u8>]) {
        let mut content = fixed(name);
        let offset = address - BASE;
        content.extend([address, size, offset, size].map(u64::to_le_bytes).concat());
        let count = u32::try_from(sections.len()).unwrap();
        content.extend([access, access, count, 0].map(u32::to_le_bytes).concat());
        content.extend(sections.concat());
        self.command(0x19, &content);
    }

    fn finish(mut self) -> Vec<u8> {
        let size = u32::try_from(self.commands.len()).unwrap();
        let header = [0xfeed_facf, 0x0100_000c, 0, 6, self.count, size, 0, 0];
        self.put(0, &header.map(u32::to_le_bytes).concat());
        let commands = std::mem::take(&mut self.commands);
        self.put(32, &commands);
        self.linkedit.resize(0x1000, 0);
        self.bytes.extend(&self.linkedit);
        self.bytes
    }
}

fn fixed(name: &str) -> Vec<u8> {
    let mut bytes = name.as_bytes().to_vec();
    bytes.resize(16, 0);
    bytes
}

fn section(name: &str, segment: &str, address: u64, size: u64, flags: u32) -> Vec<u8> {
    let mut bytes = [fixed(name), fixed(segment)].concat();
    bytes.extend([address, size].map(u64::to_le_bytes).concat());
    let offset = u32::try_from(address - BASE).unwrap();
    bytes.extend(
        [offset, 3, 0, 0, flags, 0, 12, 0]
            .map(u32::to_le_bytes)
            .concat(),
    );
    bytes
}

fn uleb(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(u8::try_from(value & 0x7f).unwrap() | 0x80);
        value >>= 7;
    }
    bytes.push(u8::try_from(value).unwrap());
}
