//! A symbol answers for its own bytes and for no others.

mod program;

use program::{Workshop, trace};
use refsan_symbols::Symbolizer;
use refsan_trace::{Module, layout::module_role};

const TEXT: u64 = 0x10000;
const BIAS: u64 = 0x7f00_0000_0000;

fn names(flags: &[&str], offsets: &[u64]) -> Vec<Option<String>> {
    let workshop = Workshop::new();
    let fixed = format!("-Wl,-Ttext={TEXT:#x}");
    let flags = [&["-shared", "-nostdlib", &fixed], flags].concat();
    workshop.compile("cc", &["symbols.s"], &flags, "symbols.so");
    let path = workshop.path("symbols.so");
    let trace = trace(vec![Module {
        id: 0,
        role: module_role::WATCHED,
        reason: 0,
        bias: BIAS,
        start: BIAS,
        end: BIAS + (1 << 20),
        build_id: Vec::new(),
        path: path.to_str().expect("a path in UTF-8").to_owned(),
        slots: Vec::new(),
    }]);
    let mut symbolizer = Symbolizer::with_debug_directories(Vec::new());
    let mut name = |offset: u64| {
        let address = BIAS + TEXT + offset;
        let [frame] = &symbolizer.frames(&trace, address, false)[..] else {
            panic!("one frame");
        };
        assert_eq!(frame.offset, Some(TEXT + offset));
        let [by_return] = &symbolizer.frames(&trace, address + 1, true)[..] else {
            panic!("one frame");
        };
        assert_eq!(frame.function, by_return.function);
        frame.function.clone()
    };
    offsets.iter().map(|offset| name(*offset)).collect()
}

#[test]
fn the_full_table_is_used_where_it_is_there() {
    let found = names(&[], &[0, 15, 16, 23, 24, 63, 64, 95, 96, 111, 112, 127]);
    let found: Vec<&str> = found
        .iter()
        .map(|name| name.as_deref().unwrap_or("?"))
        .collect();
    let (long, alias) = ("long_function", "friendly_name");
    assert_eq!(
        found,
        [
            long, long, "nested", "nested", long, long, "?", "?", alias, alias, "?", "?"
        ]
    );
}

#[test]
fn exported_functions_name_their_own_bytes_in_a_stripped_file() {
    let found = names(&["-s"], &[16, 63, 64, 95, 96, 112]);
    let found: Vec<&str> = found
        .iter()
        .map(|name| name.as_deref().unwrap_or("?"))
        .collect();
    let (long, alias) = ("long_function", "friendly_name");
    assert_eq!(found, [long, long, "?", "?", alias, "?"]);
}
