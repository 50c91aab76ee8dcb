//! Real Mach-O and PE files with damaged bytes in their tables: no panic, no hang.

use crate::{cases, is_whole, wheels};
use proptest::test_runner::{Config, TestRunner};
use refsan_image::Image;
use std::time::{Duration, Instant};

/// Asks an image for everything.
fn exhaust(bytes: &[u8]) {
    for image in Image::parse_all(bytes).unwrap_or_default() {
        let slots = image
            .rtti_classes()
            .take(1000)
            .map(|class| class.slots.len());
        let methods = image.objc_classes().len();
        let stubs = image.functions().iter().take(2000);
        let stubs = stubs.filter(|function| image.target_of_stub(function.start).is_some());
        std::hint::black_box((slots.sum::<usize>(), methods, stubs.count()));
    }
}

#[test]
fn damaged_files_are_read_without_panic() {
    if !is_whole() {
        return;
    }
    for name in [
        "R2-clp-ffi-py-0.0.4-macho-arm64",
        "R1-mlx-0.32.1-macho-arm64",
        "R3-coremltools-9.0-x86_64",
        "R2-pywhispercpp-1.5.1-pe",
        "R1-greenlet-3.5.6-elf-aarch64",
    ] {
        let case = cases::CASES.iter().find(|case| case.name == name);
        let original = wheels::member(case.expect("the case")).to_vec();
        let mut runner = TestRunner::new(Config {
            failure_persistence: None,
            ..Config::with_cases(150)
        });
        let bytes = proptest::collection::vec((0..original.len(), proptest::num::u8::ANY), 1..200);
        let header = proptest::collection::vec((0..4096usize, proptest::num::u8::ANY), 0..4);
        let cut = proptest::option::of(0..original.len());
        let result = runner.run(&(bytes, header, cut), |(bytes, header, cut)| {
            let mut damaged = original.clone();
            for (at, value) in bytes.into_iter().chain(header) {
                damaged[at] = value;
            }
            damaged.truncate(cut.unwrap_or(original.len()));
            let start = Instant::now();
            exhaust(&damaged);
            let taken = start.elapsed();
            proptest::prop_assert!(taken < Duration::from_secs(20), "{taken:?}");
            Ok(())
        });
        result.unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}
