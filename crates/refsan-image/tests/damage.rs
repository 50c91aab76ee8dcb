//! Damaged binaries: no panic, no hang, and tables that contradict each other stay bounded.

mod fixtures;

use fixtures::{compile, without_section_headers};
use proptest::prelude::*;
use refsan_image::Image;
use std::sync::LazyLock;

static LIBRARY: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let source = r"
        #include <thread>
        #include <vector>
        extern void _Py_Dealloc(void *);
        thread_local std::vector<int> values;
        void begin() { std::thread([] { _Py_Dealloc(nullptr); values.push_back(1); }).detach(); }
    ";
    compile(
        "c++",
        source,
        &["-shared", "-fPIC", "-O1", "-Wl,-z,pack-relative-relocs"],
    )
});

/// Asks an image for everything; ranges stay sorted, disjoint and inside the image.
fn exhaust(bytes: &[u8]) {
    for image in Image::parse_all(bytes).unwrap_or_default() {
        for pair in image.functions().windows(2) {
            assert!(pair[0].end <= pair[1].start);
        }
        for function in image.functions().iter().take(500) {
            assert!(function.start < function.end);
            let _ = image.target_of_stub(function.start);
            let _ = image.symbol_covering(function.end - 1);
            let _ = image.code_range_from(function.end);
            let _ = image.code(function.start, function.end - function.start);
        }
        for class in image.rtti_classes().take(500) {
            assert!(!class.slots.is_empty());
        }
        let _ = image.objc_classes();
        let _ = image.thread_locals().count();
    }
}

fn magic() -> impl Strategy<Value = Vec<u8>> {
    prop::sample::select(vec![
        b"\x7fELF\x02\x01\x01".to_vec(),
        vec![0xcf, 0xfa, 0xed, 0xfe, 7, 0, 0, 1, 3, 0, 0, 0, 6, 0, 0, 0],
        vec![0xcf, 0xfa, 0xed, 0xfe, 12, 0, 0, 1, 0, 0, 0, 0, 8, 0, 0, 0],
        vec![0xca, 0xfe, 0xba, 0xbe, 0, 0, 0, 2],
        vec![0xca, 0xfe, 0xba, 0xbf, 0, 0, 0, 1],
        b"MZ".to_vec(),
    ])
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn damaged_bytes(
        places in prop::collection::vec((0..LIBRARY.len(), any::<u8>()), 1..60),
        header in prop::collection::vec((0..1024usize, any::<u8>()), 0..6),
        cut in prop::option::of(0..LIBRARY.len()),
        stripped in any::<bool>(),
    ) {
        let mut bytes = LIBRARY.clone();
        if stripped {
            bytes = without_section_headers(&bytes);
        }
        for (at, value) in places.into_iter().chain(header) {
            bytes[at] = value;
        }
        bytes.truncate(cut.unwrap_or(bytes.len()));
        exhaust(&bytes);
    }

    #[test]
    fn any_bytes_behind_a_magic(
        magic in magic(),
        rest in prop::collection::vec(any::<u8>(), 0..2048),
    ) {
        exhaust(&[magic, rest].concat());
    }
}
