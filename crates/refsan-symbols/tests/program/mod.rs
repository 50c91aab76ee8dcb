//! Programs that the tests compile, and the snapshots that those programs take of themselves.
#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::path::{Path, PathBuf};
use std::process::Command;

use refsan_model::Frame;
use refsan_symbols::{Symbolizer, Unwound};
use refsan_trace::layout::{Header, Registers, module_role};
use refsan_trace::{Module, StackMemory, Trace};
use zerocopy::FromZeros;

/// A directory with what one test builds.
pub struct Workshop {
    directory: tempfile::TempDir,
}

/// What a program recorded of itself.
pub struct Snapshot {
    pub trace: Trace,
    pub stack: StackMemory,
}

impl Workshop {
    pub fn new() -> Workshop {
        Workshop {
            directory: tempfile::tempdir().expect("a temporary directory"),
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Compiles `sources` of the programs' directory, or of this one, to `output`.
    pub fn compile(&self, compiler: &str, sources: &[&str], flags: &[&str], output: &str) {
        let sources = sources.iter().map(|source| {
            let own = self.path(source);
            if own.exists() { own } else { program(source) }
        });
        let mut command = Command::new(compiler);
        command.args(sources).args(flags).arg("-pthread").arg("-o");
        let output = command.arg(self.path(output)).output();
        let output = output.expect("the tests need a C compiler");
        let messages = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{messages}");
    }

    /// Whether there is a C++ compiler; says so where there is none, since a test is skipped then.
    pub fn has_cpp() -> bool {
        let found = Command::new("c++").arg("--version").output().is_ok();
        if !found {
            println!("skipped: no C++ compiler (c++) on this machine");
        }
        found
    }

    pub fn run(&self, program: &str) {
        let status = Command::new(self.path(program))
            .env("SNAPSHOTS", self.directory.path())
            .env("LD_LIBRARY_PATH", self.directory.path())
            .status();
        assert!(status.expect("the program starts").success());
    }

    /// A snapshot that a program has taken.
    pub fn snapshot(&self, label: &str) -> Snapshot {
        let bytes = std::fs::read(self.path(&format!("{label}.stack"))).expect("a stack");
        let words: Vec<u64> = bytes[..64]
            .chunks_exact(8)
            .map(|word| u64::from_le_bytes(word.try_into().unwrap()))
            .collect();
        let registers = Registers {
            rip: words[0],
            rsp: words[1],
            rbp: words[2],
            rbx: words[3],
            r12: words[4],
            r13: words[5],
            r14: words[6],
            r15: words[7],
        };
        let modules = std::fs::read_to_string(self.path(&format!("{label}.modules")));
        let modules = modules.expect("modules");
        Snapshot {
            trace: trace(modules.lines().enumerate().map(module).collect()),
            stack: StackMemory {
                sequence: 1,
                registers,
                start: registers.rsp,
                bytes: bytes[64..].to_vec(),
            },
        }
    }
}

impl Snapshot {
    /// The frames of the whole stack, without separate debug files.
    pub fn frames(&self) -> (Vec<Frame>, Unwound) {
        let mut symbolizer = Symbolizer::with_debug_directories(Vec::new());
        let unwound = symbolizer.unwind(&self.trace, &self.stack);
        let addresses = unwound.addresses.iter();
        let frames = addresses.flat_map(|address| symbolizer.frames(&self.trace, *address, true));
        let frames: Vec<Frame> = frames.collect();
        assert_eq!(symbolizer.warnings(), []);
        (frames, unwound)
    }
}

pub fn trace(modules: Vec<Module>) -> Trace {
    Trace {
        path: PathBuf::new(),
        header: Header::new_zeroed(),
        modules,
        sites: Vec::new(),
        threads: Vec::new(),
        events: Vec::new(),
        stacks: Vec::new(),
        python_stacks: Vec::new(),
        damage: Vec::new(),
    }
}

fn module((id, line): (usize, &str)) -> Module {
    let mut fields = line.splitn(4, ' ');
    let mut address = || u64::from_str_radix(fields.next().unwrap(), 16).unwrap();
    let (bias, start, end) = (address(), address(), address());
    Module {
        id: id as u32,
        role: if id == 0 {
            module_role::WATCHED
        } else {
            module_role::OTHER
        },
        reason: 0,
        bias,
        start,
        end,
        build_id: Vec::new(),
        path: fields.next().unwrap().to_owned(),
        slots: Vec::new(),
    }
}

pub fn program(source: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/programs")
        .join(source)
}

/// The number of the line that bears the mark.
pub fn line(source: &str, mark: &str) -> u32 {
    let text = std::fs::read_to_string(program(source)).expect("a source");
    let mark = format!("/* {mark} */");
    let index = text.lines().position(|line| line.contains(&mark));
    index.expect("a marked line") as u32 + 1
}

/// The functions' names, `?` where there is none.
pub fn functions(frames: &[Frame]) -> Vec<&str> {
    let names = frames.iter().map(|frame| frame.function.as_deref());
    names.map(|name| name.unwrap_or("?")).collect()
}
