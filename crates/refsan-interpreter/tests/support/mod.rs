//! A real interpreter, watched from outside: its memory is read through `/proc`.

use object::read::elf::{ElfFile64, FileHeader, ProgramHeader};
use object::{Object, ObjectSymbol};
use refsan_interpreter::Memory;
use refsan_testkit::{Cache, Interpreter, debian};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// The interpreters of this machine; a version that is missing is printed as skipped.
pub fn interpreters() -> &'static [Interpreter] {
    if let Ok(cache) = Cache::open() {
        debian::fetch_or_skip(&cache);
    }
    Interpreter::all()
}

/// Memory of another process.
pub struct ProcessMemory(File);

impl Memory for ProcessMemory {
    fn read(&self, address: u64, buffer: &mut [u8]) -> bool {
        self.0.read_exact_at(buffer, address).is_ok()
    }
}

/// A program of `tests/programs` that runs under an interpreter; killed when dropped.
pub struct Program {
    child: Child,
    directory: PathBuf,
}

impl Program {
    /// Starts `name` and waits until what it writes contains `mark` at the start of a line.
    pub fn start(interpreter: &Path, name: &str, mark: &str) -> (Self, String) {
        let source = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/programs")
            .join(name);
        let unique = interpreter.to_string_lossy().replace('/', "_");
        // The script runs from a directory whose name takes two bytes a character in a `str`.
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("日本{name}{unique}"));
        fs::create_dir_all(&directory).unwrap();
        let script = directory.join(name);
        fs::copy(&source, &script).unwrap();
        let output = directory.join("output");
        let _ = fs::remove_file(&output);
        let child = Command::new(interpreter)
            .args([&script, &output])
            .env("PYTHONUTF8", "1")
            .spawn()
            .unwrap();
        let mut program = Self { child, directory };
        let deadline = Instant::now() + Duration::from_secs(30);
        loop {
            let text = fs::read_to_string(&output).unwrap_or_default();
            if text.lines().any(|line| line.starts_with(mark)) {
                // Whatever follows the mark in the same breath.
                std::thread::sleep(Duration::from_millis(200));
                return (program, fs::read_to_string(&output).unwrap());
            }
            assert!(
                Instant::now() < deadline,
                "{}: no {mark}",
                interpreter.display()
            );
            assert!(
                program.child.try_wait().unwrap().is_none(),
                "{}",
                interpreter.display()
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// The script that runs.
    pub fn script(&self, name: &str) -> String {
        self.directory.join(name).to_str().unwrap().to_owned()
    }

    /// Waits until its main thread is in the system call `pause`.
    pub fn wait_for_pause(&self) {
        const PAUSE: &str = "34 ";
        let path = format!("/proc/{0}/task/{0}/syscall", self.child.id());
        let deadline = Instant::now() + Duration::from_secs(30);
        while !fs::read_to_string(&path).unwrap().starts_with(PAUSE) {
            assert!(Instant::now() < deadline, "no pause");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Its memory.
    pub fn memory(&self) -> ProcessMemory {
        ProcessMemory(File::open(format!("/proc/{}/mem", self.child.id())).unwrap())
    }

    /// Address of `_PyRuntime`, which the executable or a library exports.
    pub fn runtime(&self) -> u64 {
        let maps = fs::read_to_string(format!("/proc/{}/maps", self.child.id())).unwrap();
        let mut starts = BTreeMap::new();
        for line in maps.lines() {
            let fields: Vec<&str> = line.split_ascii_whitespace().collect();
            if let [range, _, "00000000", _, _, path] = fields[..]
                && path.contains("python")
            {
                let start = range.split('-').next().unwrap();
                starts
                    .entry(path.to_owned())
                    .or_insert(u64::from_str_radix(start, 16).unwrap());
            }
        }
        starts
            .iter()
            .find_map(|(path, start)| symbol(path, "_PyRuntime").map(|offset| start + offset))
            .expect("an exported _PyRuntime")
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Distance of a dynamic symbol from the start of its file's first segment.
fn symbol(path: &str, name: &str) -> Option<u64> {
    let data = fs::read(path).ok()?;
    let file = ElfFile64::<object::Endianness>::parse(&*data).ok()?;
    let endian = file.endian();
    let first = file
        .elf_header()
        .program_headers(endian, &*data)
        .ok()?
        .iter()
        .find(|segment| segment.p_type(endian) == object::elf::PT_LOAD)?
        .p_vaddr(endian);
    let symbol = file
        .dynamic_symbols()
        .find(|symbol| symbol.name() == Ok(name))?;
    symbol.address().checked_sub(first)
}
