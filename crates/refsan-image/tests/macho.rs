//! A small dynamic library for arm64, put together word by word: macOS compilers do not run here.

mod macho_file;

use macho_file::{BASE, Builder, DATA};
use proptest::prelude::*;
use refsan_image::{
    Architecture, Format, Image, ImageError, ObjcMethod, Target, ThreadLocalModel,
    ThreadLocalVariable,
};

fn parse(bytes: &[u8]) -> Vec<Image<'_>> {
    Image::parse_all(bytes).expect("an image")
}

fn check(image: &Image<'_>) {
    assert!(image.problems().is_empty(), "{:?}", image.problems());
    assert_eq!(image.format(), Format::MachO);
    assert_eq!(image.architecture(), Architecture::Aarch64);
    assert_eq!(image.soname(), Some("@rpath/libfixture.dylib"));
    assert_eq!(image.libraries(), ["/usr/lib/libSystem.B.dylib"]);
    assert_eq!(image.python_modules().collect::<Vec<_>>(), ["fixture"]);
    assert_eq!(image.build_id(), Some(&[7; 16][..]));

    let starts: Vec<_> = image
        .functions()
        .iter()
        .map(|function| function.start)
        .collect();
    assert_eq!(starts, [BASE + 0x1000, BASE + 0x1020, BASE + 0x1040]);
    assert_eq!(image.functions()[2].end, BASE + 0x1060);
    assert_eq!(image.symbol_covering(BASE + 0x1004), Some("PyInit_fixture"));

    // The stub reads the first slot; the second slot is a name of the file itself.
    assert_eq!(
        image.target_of_stub(BASE + 0x1080),
        Some(Target::Import("_Py_Dealloc"))
    );
    assert_eq!(
        image.target_of_slot(DATA),
        Some(Target::Import("_Py_Dealloc"))
    );
    assert_eq!(
        image.target_of_slot(DATA + 8),
        Some(Target::Local(BASE + 0x1000))
    );
    let import = &image.imports()[0];
    assert_eq!(import.library, Some("/usr/lib/libSystem.B.dylib"));

    assert_eq!(image.initializers(), [BASE + 0x1020]);
    let slots: Vec<_> = image.thread_locals().collect();
    assert_eq!(slots.len(), 1);
    assert_eq!(slots[0].model, ThreadLocalModel::Thunk);
    assert_eq!(slots[0].variable, ThreadLocalVariable::Own(0x18));

    let classes = image.objc_classes();
    assert_eq!(classes.len(), 1, "{classes:?}");
    assert_eq!(classes[0].name, "Holder");
    assert_eq!(
        classes[0].superclass,
        Some(Target::Import("OBJC_CLASS_$_NSObject"))
    );
    let destructor = ObjcMethod {
        selector: ".cxx_destruct",
        implementation: BASE + 0x1040,
    };
    assert_eq!(classes[0].instance_methods, [destructor]);
    assert_eq!(image.pointers_to(classes[0].address).count(), 1);
}

#[test]
fn bind_streams_and_chained_fixups_say_the_same() {
    check(&parse(&Builder::streams())[0]);
    check(&parse(&Builder::chained())[0]);
}

#[test]
fn a_fat_file_gives_its_slices() {
    let (first, second) = (Builder::streams(), Builder::chained());
    let fat = Builder::fat(&[&first, &second]);
    let images = parse(&fat);
    assert_eq!(images.len(), 2);
    images.iter().for_each(check);

    let mut old = second;
    // An older processor: the slice is left out, and the other says so.
    old[4..8].copy_from_slice(&18u32.to_le_bytes());
    let fat = Builder::fat(&[&first, &old]);
    let images = parse(&fat);
    assert_eq!(images.len(), 1);
    assert!(images[0].problems()[0].starts_with("a slice was left out"));
}

#[test]
fn companions_and_classes_of_java_are_refused() {
    let mut companion = Builder::streams();
    companion[12] = 10;
    let refused = Image::parse_all(&companion).expect_err("a companion");
    assert!(
        matches!(refused, ImageError::UnsupportedKind(_)),
        "{refused}"
    );
    let java = [0xca, 0xfe, 0xba, 0xbe, 0, 0, 0, 61, 0, 0];
    let refused = Image::parse_all(&java).expect_err("a class");
    assert!(
        matches!(refused, ImageError::NotABinary { .. }),
        "{refused}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1500) })]

    #[test]
    fn damage_is_survived(
        places in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
        cut in prop::option::of(any::<prop::sample::Index>()),
        chained in any::<bool>(),
    ) {
        let mut bytes = if chained { Builder::chained() } else { Builder::streams() };
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
            let _ = image.objc_classes();
            let _ = image.rtti_classes().count();
        }
    }
}
