//! Published wheels against addresses that were read in their disassembly. Fetches several
//! hundred megabytes the first time: runs only with `REFSAN_TEST=whole`.

mod cases;
mod damage;
mod wheels;

use refsan_image::input::{Content, Limits, open};
use refsan_image::{Architecture, Format, Image, Target, ThreadLocalModel, ThreadLocalVariable};
use refsan_testkit::Skip;
use std::time::Instant;

/// One binary of one wheel.
struct Case {
    name: &'static str,
    requirement: &'static str,
    wheel: &'static str,
    sha256: &'static str,
    file: &'static str,
    /// Addresses at which a function starts.
    starts: &'static [u64],
    /// Addresses inside functions.
    inside: &'static [u64],
    /// Calls and tail jumps, with what they reach.
    calls: &'static [(u64, Expected)],
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Expected {
    Import(&'static str),
    Local(u64),
}

fn is_whole() -> bool {
    let whole = std::env::var_os("REFSAN_TEST").is_some_and(|tier| tier == "whole");
    if !whole {
        Skip::new(
            "published wheels",
            "they are fetched only with REFSAN_TEST=whole",
        )
        .print();
    }
    whole
}

/// Gives the images of a case to the check.
fn with_images(name: &str, check: impl FnOnce(&[Image<'_>])) {
    let case = cases::CASES.iter().find(|case| case.name == name);
    let case = case.unwrap_or_else(|| panic!("no case {name}"));
    let bytes = wheels::member(case);
    let images = Image::parse_all(&bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
    check(&images);
}

#[test]
fn functions_and_calls_are_where_the_disassembly_has_them() {
    if !is_whole() {
        return;
    }
    let mut wrong = Vec::new();
    let mut checked = 0;
    for case in cases::CASES {
        let bytes = wheels::member(case);
        let start = Instant::now();
        let images =
            Image::parse_all(&bytes).unwrap_or_else(|error| panic!("{}: {error}", case.name));
        println!(
            "{}: {} bytes in {:?}",
            case.name,
            bytes.len(),
            start.elapsed()
        );
        let image = &images[0];
        let mut check = |what: String, good: bool| {
            checked += 1;
            if !good {
                wrong.push(format!("{}: {what}", case.name));
            }
        };
        check(
            format!("problems {:?}", image.problems()),
            image.problems().is_empty(),
        );
        let functions = image.functions();
        let disjoint = functions
            .windows(2)
            .all(|pair| pair[0].end <= pair[1].start);
        check("functions overlap".into(), disjoint);
        for start in case.starts {
            check(
                format!("no function starts at {start:#x}"),
                image.function_at(*start).is_some(),
            );
        }
        for address in case.inside {
            let inside = image.function_covering(*address).is_some();
            check(format!("no function holds {address:#x}"), inside);
        }
        for (address, expected) in case.calls {
            let found = called(image, *address);
            check(
                format!("{address:#x} calls {found:x?}, not {expected:x?}"),
                found == Some(target(*expected)),
            );
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {checked} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    println!("{checked} checks");
}

fn target(expected: Expected) -> Target<'static> {
    match expected {
        Expected::Import(name) => Target::Import(name),
        Expected::Local(address) => Target::Local(address),
    }
}

/// What the call or jump at an address reaches, through a stub or a slot if there is one.
fn called<'a>(image: &'a Image<'_>, address: u64) -> Option<Target<'a>> {
    let direct = |target: u64| image.target_of_stub(target).or(Some(Target::Local(target)));
    if image.architecture() == Architecture::Aarch64 {
        let word = u32::from_le_bytes(image.code(address, 4)?.try_into().ok()?);
        assert_eq!(
            word & 0x7c00_0000,
            0x1400_0000,
            "no bl or b at {address:#x}"
        );
        let offset = i64::from(word & 0x03ff_ffff) << 38 >> 36;
        return direct(address.wrapping_add_signed(offset));
    }
    let mut code = image.code(address, 8)?;
    let mut next = address;
    // Prefixes of operand size that only pad, as in front of calls of __tls_get_addr.
    while let [0x66 | 0x48 | 0xf2, rest @ ..] = code {
        code = rest;
        next += 1;
    }
    let displacement = |bytes: &[u8]| i64::from(i32::from_le_bytes(bytes.try_into().unwrap()));
    match code {
        [0xe8 | 0xe9, rest @ ..] => {
            direct((next + 5).wrapping_add_signed(displacement(&rest[..4])))
        }
        [0xff, 0x15 | 0x25, rest @ ..] => {
            image.target_of_slot((next + 6).wrapping_add_signed(displacement(&rest[..4])))
        }
        _ => panic!("no call at {address:#x}: {code:02x?}"),
    }
}

#[test]
fn objective_c_classes_name_their_destructors() {
    if !is_whole() {
        return;
    }
    for (name, class, destructor, variable) in [
        ("R3-coremltools-9.0-arm64", 0x15_4d50, 0x2da14, 0x15_4d48),
        ("R3-coremltools-9.0-x86_64", 0x16_3d40, 0x2fcc0, 0x16_3d38),
    ] {
        with_images(name, |images| {
            let classes = images[0].objc_classes();
            let [found] = classes.as_slice() else {
                panic!("{name}: {classes:?}")
            };
            assert_eq!(
                (found.name, found.address),
                ("PybindCompatibleArray", class)
            );
            assert_eq!(
                found.superclass,
                Some(Target::Import("OBJC_CLASS_$_MLMultiArray"))
            );
            assert_eq!(found.instance_methods.len(), 3);
            assert_eq!(found.implementation(".cxx_destruct"), Some(destructor));
            assert_eq!(
                found.variables[0].type_encoding,
                "{array=\"m_ptr\"^{_object}}"
            );
            assert_eq!(found.variables[0].offset_variable, variable);
        });
    }
    with_images("R3-pyobjc-core-13.0-x86_64", |images| {
        assert_eq!(images.len(), 2);
        let classes = images[0].objc_classes();
        let defined = classes.iter().filter(|class| class.category.is_none());
        assert_eq!(defined.count(), 22);
        for (class, dealloc) in [
            ("OC_PythonArray", 0x1350),
            ("OC_PythonObject", 0x60a0),
            ("OCReleasedBuffer", 0x78af0),
        ] {
            let found = classes.iter().find(|found| found.name == class).unwrap();
            assert_eq!(found.implementation("dealloc"), Some(dealloc), "{class}");
        }
        // Relative lists in one slice, absolute ones in the other: the same methods.
        let names = |image: &Image<'_>| -> Vec<(String, Vec<String>)> {
            let classes = image.objc_classes();
            let mut names: Vec<_> = classes
                .iter()
                .filter(|class| class.category.is_none())
                .map(|class| {
                    let methods = class.instance_methods.iter();
                    let mut methods: Vec<_> =
                        methods.map(|method| method.selector.to_owned()).collect();
                    methods.sort();
                    (class.name.to_owned(), methods)
                })
                .collect();
            names.sort();
            names
        };
        assert_eq!(names(&images[0]), names(&images[1]));
    });
}

#[test]
fn threads_are_found_by_type_information() {
    if !is_whole() {
        return;
    }
    with_images("R4-pyopencl-2026.1.4-elf", |images| {
        let threads: Vec<_> = images[0]
            .rtti_classes_named("NSt6thread11_State_implI")
            .collect();
        let found = threads
            .iter()
            .find(|class| class.mangled_name.contains("set_callback"));
        let found = found.expect("the thread of set_callback");
        assert_eq!(found.vtable, 0xc8c10);
        assert_eq!(
            found.slots[1..],
            [Target::Local(0x4fca0), Target::Local(0x4fcd0)]
        );
    });
    with_images("R4-dearpygui-2.3.1-elf", |images| {
        let mut threads = images[0].rtti_classes_named("NSt6thread11_State_implI");
        assert!(threads.any(|class| class.slots.get(2) == Some(&Target::Local(0x17c570))));
    });
}

#[test]
fn thread_local_slots_have_the_recorded_form() {
    if !is_whole() {
        return;
    }
    let own = |image: &Image<'_>, address| {
        let slot = image
            .thread_local_at(address)
            .unwrap_or_else(|| panic!("no slot {address:#x}"));
        let ThreadLocalVariable::Own(displacement) = slot.variable else {
            panic!("{slot:?}")
        };
        (slot.model, displacement)
    };
    with_images("R1-circt-1.62.0-elf", |images| {
        assert_eq!(
            own(&images[0], 0x1e_be10),
            (ThreadLocalModel::ModulePair, 0)
        );
    });
    with_images("R1-jaxlib-0.10.2-elf", |images| {
        assert_eq!(
            own(&images[0], 0xe58_0f18),
            (ThreadLocalModel::ModulePair, 0)
        );
        let stack = images[0]
            .thread_local_symbols()
            .iter()
            .find(|symbol| symbol.address == 0x26b8);
        assert!(
            stack.is_some_and(|symbol| symbol.name.ends_with("getStackEvE5stack")),
            "{stack:?}"
        );
    });
    with_images("R1-greenlet-3.5.6-elf-aarch64", |images| {
        assert_eq!(own(&images[0], 0x405a0), (ThreadLocalModel::Descriptor, 0));
        // A callback that is read from the GOT because it is exported.
        assert_eq!(
            images[0].target_of_slot(0x3f000 + 3576),
            Some(Target::Local(0x1d540))
        );
    });
    with_images("R1-mlx-0.32.1-macho-arm64", |images| {
        assert!(
            images[0]
                .thread_locals()
                .all(|slot| slot.model == ThreadLocalModel::Thunk)
        );
        assert_eq!(images[0].thread_locals().count(), 2);
        // Chained fixups: the stub reads `__got`.
        assert_eq!(
            images[0].target_of_slot(0x14_5570),
            Some(Target::Import("_Py_Dealloc"))
        );
    });
}

#[test]
fn windows_initializers_and_leaf_functions_are_found() {
    if !is_whole() {
        return;
    }
    with_images("R2-pywhispercpp-1.5.1-pe", |images| {
        let image = &images[0];
        assert_eq!(image.format(), Format::Pe);
        assert!(
            image.initializers().contains(&0x1000),
            "{:x?}",
            image.initializers()
        );
        let leaf = image.code_range_from(0x49550).expect("the destructor");
        assert!(leaf.contains(0x49567) && leaf.end <= 0x49580, "{leaf:x?}");
        assert_eq!(
            image.target_of_slot(0x4a2e0),
            Some(Target::Import("_crt_atexit"))
        );
    });
}

#[test]
fn debug_companions_are_left_out_with_a_reason() {
    if !is_whole() {
        return;
    }
    let case = cases::CASES
        .iter()
        .find(|case| case.name.starts_with("R3-pyobjc"));
    let wheel = wheels::path(case.expect("the case"));
    let mut companions = 0;
    let mut images = 0;
    for entry in open(wheel, Limits::default()) {
        let Content::Binary(bytes) = &entry.content else {
            continue;
        };
        match Image::parse_all(bytes) {
            Ok(found) => images += found.len(),
            Err(error) => {
                assert!(
                    error.to_string().contains("dSYM"),
                    "{}: {error}",
                    entry.name
                );
                companions += 1;
            }
        }
    }
    assert!(images > 0);
    assert!(companions > 0);
    println!("{images} images, {companions} companions");
}
