//! A jump to an imported function leaves the return address of another function.

mod program;

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::process::Command;

use iced_x86::{Decoder, DecoderOptions, Mnemonic};
use object::{Object, ObjectSection, ObjectSymbol};
use program::Workshop;
use refsan_symbols::{CANDIDATE_LIMIT, CallSite, Symbolizer};
use refsan_trace::layout::module_role;
use refsan_trace::{Module, Slot, Trace};

const BIAS: u64 = 0x7f00_0000_0000;
const OUTSIDE: u64 = 0x5555_0000_1234;
const C: [&str; 1] = ["tail_calls.c"];
const JUMPS: [&str; 2] = ["hidden", "exported"];

/// A library with what its symbols and relocations say.
struct Library {
    workshop: Workshop,
    trace: Trace,
    functions: BTreeMap<String, (u64, u64)>,
    bytes: Vec<u8>,
}

impl Library {
    fn build(compiler: &str, sources: &[&str], flags: &[&str]) -> Library {
        let workshop = Workshop::new();
        let common = ["-O2", "-shared", "-fPIC", "-Wl,--build-id"];
        let flags = [&common[..], flags].concat();
        workshop.compile(compiler, sources, &flags, "library.so");
        let bytes = std::fs::read(workshop.path("library.so")).unwrap();
        let file = object::File::parse(&*bytes).unwrap();
        let functions = file.symbols().filter(|symbol| symbol.size() > 0);
        let functions = functions.map(|symbol| {
            let name = symbol.name().unwrap().to_owned();
            (name, (symbol.address(), symbol.size()))
        });
        let functions = functions.collect();
        let names: HashMap<_, _> = file
            .dynamic_symbols()
            .map(|symbol| (symbol.index(), symbol.name().unwrap().to_owned()))
            .collect();
        let slots = file.dynamic_relocations().unwrap();
        let slots = slots.filter_map(|(offset, relocation)| match relocation.target() {
            object::RelocationTarget::Symbol(symbol) => Some(Slot {
                name: names.get(&symbol)?.clone(),
                calls: 1,
                address: BIAS + offset,
                flags: 0,
            }),
            _ => None,
        });
        let module = Module {
            id: 0,
            role: module_role::WATCHED,
            reason: 0,
            bias: BIAS,
            start: BIAS,
            end: BIAS + 0x10_0000,
            build_id: Vec::new(),
            path: workshop.path("library.so").to_str().unwrap().to_owned(),
            slots: slots.collect(),
        };
        Library {
            trace: program::trace(vec![module]),
            workshop,
            functions,
            bytes,
        }
    }

    fn path(&self) -> PathBuf {
        self.workshop.path("library.so")
    }

    /// Takes away all names that the loader does not need; addresses stay.
    fn strip(self) -> Library {
        let status = Command::new("strip").arg(self.path()).status();
        assert!(status.expect("strip is a part of binutils").success());
        self
    }

    fn start(&self, function: &str) -> u64 {
        self.functions[function].0
    }

    /// Where the first call in a function returns to.
    fn return_address(&self, function: &str) -> u64 {
        let (start, size) = self.functions[function];
        let file = object::File::parse(&*self.bytes).unwrap();
        let mut sections = file.sections();
        let section = sections.find(|section| {
            (section.address()..section.address() + section.size()).contains(&start)
        });
        let section = section.unwrap();
        let code = section.data_range(start, size).unwrap().unwrap();
        let mut decoder = Decoder::with_ip(64, code, start, DecoderOptions::NONE);
        let mut instructions = decoder.iter();
        let call = instructions.find(|instruction| instruction.mnemonic() == Mnemonic::Call);
        BIAS + call.expect("a call").next_ip()
    }

    fn slot(&self, name: &str) -> Slot {
        let mut slots = self.trace.modules[0].slots.iter();
        slots.find(|slot| slot.name == name).unwrap().clone()
    }

    fn call_site(&self, return_address: u64) -> CallSite {
        let mut symbolizer = Symbolizer::with_debug_directories(Vec::new());
        let module = &self.trace.modules[0];
        let slot = self.slot("sink");
        let site = symbolizer.call_site(&self.trace, module, &slot, return_address);
        let again = symbolizer.call_site(&self.trace, module, &slot, return_address);
        assert_eq!(site, again);
        assert_eq!(symbolizer.warnings(), []);
        site
    }

    /// The answer for the first call in a function.
    fn called_by(&self, function: &str) -> CallSite {
        self.call_site(self.return_address(function))
    }
}

/// The candidates' starts, and whether there are more.
fn tail(site: &CallSite) -> (Vec<u64>, bool) {
    match site {
        CallSite::Tail { candidates, more } => {
            let offsets = candidates.iter().map(|candidate| candidate.offset);
            (offsets.collect(), *more)
        }
        other => panic!("no tail call: {other:?}"),
    }
}

fn names(site: &CallSite) -> Vec<&str> {
    match site {
        CallSite::Tail { candidates, .. } => {
            let names = candidates.iter().map(|candidate| candidate.name.as_deref());
            names.map(|name| name.unwrap_or("?")).collect()
        }
        other => panic!("no tail call: {other:?}"),
    }
}

fn sorted(mut names: Vec<&str>) -> Vec<&str> {
    names.sort_unstable();
    names
}

/// What must hold however the library was built, but for names.
fn assert_answers(library: &Library, has_names: bool) {
    let only = |caller: &str, function: &str| {
        let site = library.called_by(caller);
        let expected = (vec![library.start(function)], false);
        assert_eq!(tail(&site), expected, "{caller}: {site:?}");
        if has_names {
            assert_eq!(names(&site), [function]);
        }
        let CallSite::Tail { candidates, .. } = site else {
            unreachable!("asserted above")
        };
        let (start, size) = library.functions[function];
        assert!((start..start + size).contains(&candidates[0].jump));
    };
    assert_eq!(library.called_by("direct"), CallSite::Direct);
    only("calls_hidden", "hidden");
    only("calls_chained", "hidden");
    only("calls_exported", "exported");
    assert_eq!(
        library.called_by("calls_quiet"),
        // It ends with a jump to another module, which can call anything of this one.
        library.call_site(OUTSIDE),
    );
    for caller in ["calls_imported", "calls_pointer", "calls_computed"] {
        assert_eq!(library.called_by(caller), library.call_site(OUTSIDE));
    }
    let everything = library.call_site(OUTSIDE);
    let (offsets, more) = tail(&everything);
    assert!(!more && offsets.len() == 3, "{everything:?}");
    for function in JUMPS {
        assert!(offsets.contains(&library.start(function)));
    }
    if has_names {
        let expected = ["exported", "hidden", "split"];
        assert_eq!(sorted(names(&everything)), expected);
        let split = library.called_by("calls_split");
        assert_eq!(names(&split)[0], "split", "{split:?}");
        // Its likely part ends with a jump to another module.
        assert_eq!(sorted(names(&split)), expected);
    }
    // In the middle of nothing.
    let start = BIAS + library.start("direct");
    assert_eq!(library.call_site(start + 1), CallSite::Unknown);
}

#[test]
fn through_the_linkage_table() {
    assert_answers(&Library::build("cc", &C, &[]), true);
}

#[test]
fn through_the_linkage_table_with_landing_pads() {
    let flags = ["-fcf-protection", "-Wl,-z,ibtplt"];
    assert_answers(&Library::build("cc", &C, &flags), true);
    assert_answers(&Library::build("cc", &C, &["-fcf-protection"]), true);
}

#[test]
fn bound_at_once() {
    assert_answers(&Library::build("cc", &C, &["-Wl,-z,now"]), true);
    let flags = ["-Wl,-z,now", "-fcf-protection", "-Wl,-z,ibtplt"];
    assert_answers(&Library::build("cc", &C, &flags), true);
}

#[test]
fn without_the_linkage_table() {
    assert_answers(&Library::build("cc", &C, &["-fno-plt"]), true);
    let flags = ["-fno-plt", "-fcf-protection", "-g"];
    assert_answers(&Library::build("cc", &C, &flags), true);
}

#[test]
fn stripped() {
    assert_answers(&Library::build("cc", &C, &[]).strip(), false);
    assert_answers(&Library::build("cc", &C, &["-fno-plt"]).strip(), false);
}

#[test]
fn a_function_of_a_stripped_library_has_an_offset() {
    let library = Library::build("cc", &C, &[]).strip();
    let mut symbolizer = Symbolizer::with_debug_directories(Vec::new());
    let return_address = library.return_address("calls_hidden");
    let offset = symbolizer.function_offset(&library.trace, return_address);
    assert_eq!(offset, Some(library.start("calls_hidden")));
    assert_eq!(symbolizer.function_offset(&library.trace, OUTSIDE), None);
    assert_eq!(symbolizer.function_offset(&library.trace, 0), None);
}

#[test]
fn virtual_functions() {
    if !Workshop::has_cpp() {
        return;
    }
    for flags in [&[][..], &["-fno-plt"], &["-fcf-protection", "-Wl,-z,now"]] {
        let library = Library::build("c++", &["tail_calls.cpp"], flags);
        let site = library.called_by("calls_drop");
        let expected = ["pool::First::drop()", "pool::Second::drop()"];
        assert_eq!(sorted(names(&site)), expected);
        assert!(!tail(&site).1);
        assert_eq!(library.call_site(OUTSIDE), site);
    }
}

fn assembled(parts: &[&str]) -> Library {
    let defined = parts.iter().map(|part| format!("-Wa,--defsym,{part}=1"));
    let defined: Vec<String> = defined.collect();
    let flags: Vec<&str> = defined.iter().map(String::as_str).collect();
    // Nothing but this file's code, so that it is the first.
    let flags = [&flags[..], &["-nostdlib"]].concat();
    Library::build("cc", &["tail_calls.s"], &flags)
}

#[test]
fn the_first_instruction_of_all() {
    let library = assembled(&["FIRST"]);
    assert_eq!(names(&library.call_site(OUTSIDE)), ["jumps"]);
}

#[test]
fn addresses_that_are_loaded_before() {
    let library = assembled(&["LOADED"]);
    assert_eq!(library.called_by("hoisted"), CallSite::Direct);
    assert_eq!(names(&library.call_site(OUTSIDE)), ["loads_and_jumps"]);
    // The address could have been handed to it.
    assert_eq!(library.called_by("calls_register"), CallSite::Unknown);
}

#[test]
fn addresses_that_are_stored() {
    let library = assembled(&["STORED", "FIRST"]);
    // Whoever reads the stored address can call, without a jump in this library.
    assert_eq!(library.call_site(OUTSIDE), CallSite::Unknown);
    let library = assembled(&["STORED", "FIRST", "LOADED"]);
    let site = library.call_site(OUTSIDE);
    assert_eq!(sorted(names(&site)), ["jumps", "loads_and_jumps"]);
    assert!(tail(&site).1);
}

#[test]
fn jump_tables_are_no_way_out() {
    let library = assembled(&["SWITCH"]);
    assert_eq!(names(&library.called_by("calls_switches")), ["switches"]);
    let everything = library.call_site(OUTSIDE);
    assert_eq!(sorted(names(&everything)), ["also_jumps", "switches"]);
}

#[test]
fn many_candidates_are_cut() {
    let workshop = Workshop::new();
    let define = |number| format!("void f{number}(void *p) {{ sink((char *)p + {number}); }}\n");
    let functions: String = (0..40).map(define).collect();
    let source = format!("extern void sink(void *);\n{functions}");
    std::fs::write(workshop.path("many.c"), source).unwrap();
    let path = workshop.path("many.c");
    let library = Library::build("cc", &[path.to_str().unwrap()], &[]);
    let site = library.call_site(OUTSIDE);
    let (offsets, more) = tail(&site);
    assert!(more);
    assert_eq!(offsets.len(), CANDIDATE_LIMIT);
    assert_eq!(names(&site)[0], "f0");
}

#[test]
fn a_slot_that_nothing_jumps_through() {
    let library = Library::build("cc", &C, &[]);
    let module = &library.trace.modules[0];
    let mut symbolizer = Symbolizer::with_debug_directories(Vec::new());
    for name in ["report", "__cxa_finalize"] {
        let slot = library.slot(name);
        let site = symbolizer.call_site(&library.trace, module, &slot, OUTSIDE);
        assert_eq!(site, CallSite::Unknown, "{name}");
    }
    let nowhere = Slot {
        address: 0,
        ..library.slot("sink")
    };
    let site = symbolizer.call_site(&library.trace, module, &nowhere, OUTSIDE);
    assert_eq!(site, CallSite::Unknown);
}
