//! Writes a PE file with one of everything.

/// Where the image would like to be loaded.
const IMAGE_BASE: u64 = 0x1_8000_0000;
/// Address of the code.
pub const TEXT: u64 = 0x1000;
const RDATA: u64 = 0x2000;
const DATA: u64 = 0x3000;
/// The import address table.
pub const SLOTS: u64 = RDATA;
const NAMES: u64 = RDATA + 0x100;
const TABLES: u64 = RDATA + 0x18;
const IMPORTS: u64 = RDATA + 0x140;
const LATE: u64 = RDATA + 0x180;
const LATE_NAMES: u64 = RDATA + 0x1e0;
const EXPORTS: u64 = RDATA + 0x200;
const TEXTS: u64 = RDATA + 0x260;
const UNWIND: u64 = RDATA + 0x300;
const PLAIN_UNWIND: u64 = RDATA + 0x380;
const CHAINED_UNWIND: u64 = RDATA + 0x388;
const THREADS: u64 = RDATA + 0x3a0;
const CALLBACKS: u64 = RDATA + 0x3d0;
const RELOCATIONS: u64 = RDATA + 0x400;
/// The delay-load address table.
pub const LATE_SLOTS: u64 = DATA;
/// The index of the module's thread-local block.
pub const INDEX: u64 = DATA + 0x40;

const DIRECTORIES: [(usize, u64, u64); 6] = [
    (0, EXPORTS, 0x60),
    (1, IMPORTS, 0x28),
    (3, UNWIND, 48),
    (5, RELOCATIONS, 8 + 12),
    (9, THREADS, 40),
    (13, LATE, 64),
];

/// The file's bytes.
pub struct Module {
    bytes: Vec<u8>,
}

impl Module {
    pub fn build() -> Vec<u8> {
        let mut module = Self {
            bytes: vec![0; 0x1000],
        };
        module.headers();
        module.code();
        module.imports();
        module.exports();
        module.unwind();
        module.pointers();
        module.bytes
    }

    /// Sections follow the headers at 0x400, 0x800 and 0xe00.
    fn place(address: u64) -> usize {
        let (start, offset) = match address {
            DATA.. => (DATA, 0xe00),
            RDATA.. => (RDATA, 0x800),
            _ => (TEXT, 0x400),
        };
        offset + usize::try_from(address - start).unwrap()
    }

    fn put(&mut self, address: u64, bytes: &[u8]) {
        let at = Self::place(address);
        self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
    }

    fn words(&mut self, address: u64, words: &[u64]) {
        let bytes: Vec<u8> = words
            .iter()
            .flat_map(|word| u32::try_from(*word).unwrap().to_le_bytes())
            .collect();
        self.put(address, &bytes);
    }

    fn wide(&mut self, address: u64, words: &[u64]) {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.put(address, &bytes);
    }

    fn headers(&mut self) {
        self.bytes[..2].copy_from_slice(b"MZ");
        self.bytes[0x3c] = 0x80;
        let file = [0x4550, 0x0003_8664, 0, 0, 0, 0x2022_00f0].map(u32::to_le_bytes);
        self.bytes[0x80..0x98].copy_from_slice(&file.concat());
        let optional = &mut self.bytes[0x98..0x188];
        optional[..2].copy_from_slice(&0x20bu16.to_le_bytes());
        optional[24..32].copy_from_slice(&IMAGE_BASE.to_le_bytes());
        optional[32..40].copy_from_slice(&[0x1000u32, 0x200].map(u32::to_le_bytes).concat());
        optional[56..64].copy_from_slice(&[0x4000u32, 0x400].map(u32::to_le_bytes).concat());
        optional[108] = 16;
        for (index, address, size) in DIRECTORIES {
            let entry = [address, size].map(|word| u32::try_from(word).unwrap().to_le_bytes());
            optional[112 + index * 8..120 + index * 8].copy_from_slice(&entry.concat());
        }
        let sections = [
            (".text", TEXT, 0x400u32, 0x400u32, 0x6000_0020u32),
            (".rdata", RDATA, 0x600, 0x800, 0x4000_0040),
            (".data", DATA, 0x200, 0xe00, 0xc000_0040),
        ];
        for (index, (name, address, size, offset, flags)) in sections.into_iter().enumerate() {
            let header = &mut self.bytes[0x188 + index * 40..][..40];
            header[..name.len()].copy_from_slice(name.as_bytes());
            let fields = [size, u32::try_from(address).unwrap(), size, offset];
            header[8..24].copy_from_slice(&fields.map(u32::to_le_bytes).concat());
            header[36..].copy_from_slice(&flags.to_le_bytes());
        }
    }

    fn code(&mut self) {
        // jmp *SLOTS(%rip)
        let displacement = u32::try_from(SLOTS - (TEXT + 0x86)).unwrap();
        self.put(TEXT + 0x80, &[0xff, 0x25]);
        self.put(TEXT + 0x82, &displacement.to_le_bytes());
    }

    fn imports(&mut self) {
        for table in [SLOTS, NAMES] {
            self.wide(table, &[TEXTS, 1 << 63 | 7, 0]);
        }
        self.words(IMPORTS, &[NAMES, 0, 0, TEXTS + 0x20, SLOTS]);
        self.put(TEXTS, b"\0\0_Py_Dealloc\0");
        self.put(TEXTS + 0x20, b"python3.dll\0");
        self.words(LATE, &[1, TEXTS + 0x30, 0, LATE_SLOTS, LATE_NAMES]);
        self.wide(LATE_NAMES, &[TEXTS + 0x40, 0]);
        self.put(TEXTS + 0x30, b"late.dll\0");
        self.put(TEXTS + 0x40, b"\0\0late\0");
    }

    fn exports(&mut self) {
        let fields = [
            0,
            0,
            0,
            TEXTS + 0x50,
            1,
            1,
            1,
            EXPORTS + 40,
            EXPORTS + 44,
            EXPORTS + 48,
        ];
        self.words(EXPORTS, &fields);
        self.words(EXPORTS + 40, &[TEXT, TEXTS + 0x60]);
        self.put(TEXTS + 0x50, b"fixture.pyd\0");
        self.put(TEXTS + 0x60, b"PyInit_fixture\0");
    }

    fn unwind(&mut self) {
        let entries = [
            [TEXT, TEXT + 0x20, PLAIN_UNWIND],
            [TEXT + 0x20, TEXT + 0x30, CHAINED_UNWIND],
            [TEXT + 0x40, TEXT + 0x50, PLAIN_UNWIND],
            [TEXT + 0x60, TEXT + 0x68, CHAINED_UNWIND],
        ];
        self.words(UNWIND, entries.as_flattened());
        self.put(PLAIN_UNWIND, &[1]);
        self.put(CHAINED_UNWIND, &[1 | 4 << 3]);
    }

    /// The initializers between zeros, and the thread-local directory.
    fn pointers(&mut self) {
        let absolute = |address: u64| IMAGE_BASE + address;
        let table = [0, absolute(TEXT + 0xa0), absolute(TEXT + 0xb0), 0];
        self.wide(TABLES, &table);
        self.wide(THREADS, &[0, 0, absolute(INDEX), absolute(CALLBACKS)]);
        self.wide(CALLBACKS, &[absolute(TEXT + 0xc0), 0]);
        self.words(RELOCATIONS, &[RDATA, 20]);
        let places = [
            TABLES + 8,
            TABLES + 16,
            THREADS + 16,
            THREADS + 24,
            CALLBACKS,
        ];
        for (index, place) in (0u64..).zip(places) {
            let entry = 10 << 12 | u16::try_from(place - RDATA).unwrap();
            self.put(RELOCATIONS + 8 + index * 2, &entry.to_le_bytes());
        }
    }
}
