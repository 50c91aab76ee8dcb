//! A small extension module for Windows, put together word by word.

mod pe_file;

use pe_file::{Module, TEXT};
use proptest::prelude::*;
use refsan_image::{Format, Image, ImageError, Target, ThreadLocalModel};

#[test]
fn every_table_is_read() {
    let bytes = Module::build();
    let images = Image::parse_all(&bytes).expect("an image");
    let image = &images[0];
    assert!(image.problems().is_empty(), "{:?}", image.problems());
    assert_eq!(image.format(), Format::Pe);
    assert_eq!(image.soname(), Some("fixture.pyd"));
    assert_eq!(image.python_modules().collect::<Vec<_>>(), ["fixture"]);
    assert_eq!(image.export("PyInit_fixture"), Some(TEXT));
    assert_eq!(image.libraries(), ["python3.dll", "late.dll"]);

    // By name, by number, and delayed.
    assert_eq!(
        image.target_of_slot(pe_file::SLOTS),
        Some(Target::Import("_Py_Dealloc"))
    );
    assert_eq!(
        image.target_of_slot(pe_file::SLOTS + 8),
        Some(Target::Import("#7"))
    );
    assert_eq!(
        image.target_of_slot(pe_file::LATE_SLOTS),
        Some(Target::Import("late"))
    );
    assert_eq!(image.imports()[2].library, Some("late.dll"));
    assert_eq!(
        image.target_of_stub(TEXT + 0x80),
        Some(Target::Import("_Py_Dealloc"))
    );

    // A continuation right behind is joined, one elsewhere is not.
    let ranges = image
        .functions()
        .iter()
        .map(|function| (function.start, function.end));
    let ranges: Vec<_> = ranges.take(3).collect();
    assert_eq!(
        ranges,
        [
            (TEXT, TEXT + 0x30),
            (TEXT + 0x40, TEXT + 0x50),
            (TEXT + 0x60, TEXT + 0x68)
        ]
    );
    // A leaf function that only a pointer shows, and one that nothing shows.
    assert!(image.function_at(TEXT + 0xa0).is_some());
    assert!(image.function_at(TEXT + 0x50).is_none());
    let leaf = image.code_range_from(TEXT + 0x50).expect("code");
    assert_eq!((leaf.start, leaf.end), (TEXT + 0x50, TEXT + 0x60));

    assert_eq!(image.initializers(), [TEXT + 0xa0, TEXT + 0xb0]);
    assert_eq!(image.thread_callbacks(), [TEXT + 0xc0]);
    let slots: Vec<_> = image.thread_locals().collect();
    assert_eq!(
        (slots[0].address, slots[0].model),
        (pe_file::INDEX, ThreadLocalModel::ModuleIndex)
    );
}

#[test]
fn other_processors_are_refused() {
    let mut bytes = Module::build();
    bytes[0x84..0x86].copy_from_slice(&0x14cu16.to_le_bytes());
    let refused = Image::parse_all(&bytes).expect_err("32-bit");
    assert!(
        matches!(refused, ImageError::UnsupportedArchitecture(_)),
        "{refused}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1500) })]

    #[test]
    fn damage_is_survived(
        places in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let mut bytes = Module::build();
        for (at, value) in places {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        for image in Image::parse_all(&bytes).unwrap_or_default() {
            for function in image.functions() {
                let _ = image.target_of_stub(function.start);
                let _ = image.symbol_covering(function.start);
            }
            let _ = image.rtti_classes().count();
        }
    }
}
