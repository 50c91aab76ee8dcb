//! Unwinding and naming of hostile stacks over hostile modules, with the tables and the code of a
//! real binary: the C library of this machine.
#![no_main]

use std::cell::RefCell;
use std::path::Path;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use refsan_symbols::Symbolizer;
use refsan_trace::Trace;

/// The path of the C library that this process runs on.
static C_LIBRARY: LazyLock<String> = LazyLock::new(|| {
    let maps = std::fs::read_to_string("/proc/self/maps").expect("Linux has it");
    let mut paths = maps
        .lines()
        .filter_map(|line| line.split_whitespace().nth(5));
    let path = paths.find(|path| path.contains("/libc.so"));
    path.expect("the GNU C library, shared").to_owned()
});

thread_local! {
    /// Kept, since it reads the binary only once.
    static SYMBOLIZER: RefCell<Symbolizer> = RefCell::new(Symbolizer::new());
}

fuzz_target!(|input: &[u8]| {
    let bytes = refsan_fuzz::trace::from_input(input);
    let Ok(mut trace) = Trace::parse(Path::new("fuzz.rstrace"), &bytes) else {
        return;
    };
    for module in &mut trace.modules {
        // No path of the fuzzer's is opened.
        module.path.clone_from(&C_LIBRARY);
        module.build_id.clear();
    }
    SYMBOLIZER.with_borrow_mut(|symbolizer| {
        for stack in &trace.stacks {
            let unwound = symbolizer.unwind(&trace, stack);
            symbolizer.exit_stage(&trace, &unwound.addresses);
            for address in unwound.addresses {
                symbolizer.frames(&trace, address, true);
                symbolizer.function_offset(&trace, address);
            }
        }
        for event in &trace.events {
            let address = event.return_address;
            let module = trace.module(event.module);
            if let Some((module, slot)) = module.zip(trace.slot(event.module, event.slot)) {
                symbolizer.call_site(&trace, module, slot, address);
            }
        }
    });
});
