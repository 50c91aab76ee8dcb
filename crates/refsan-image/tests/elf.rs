//! Fixtures that the system's compiler builds, whole and stripped of all that may be stripped.

mod fixtures;

use fixtures::{compile, without_section_headers};
use refsan_image::{
    Architecture, Format, Image, ImageError, Target, ThreadLocalModel, ThreadLocalVariable,
};

const LIBRARY: &str = r#"
    extern int PyRun_SimpleString(const char *);
    extern void _Py_Dealloc(void *);
    __thread long first = 1;
    static __thread long second = 2;
    static int hook_target(void *object) { _Py_Dealloc(object); return 1; }
    int (*const table[])(void *) = { hook_target };
    void (*const imported[])(void *) = { _Py_Dealloc };
    int exported(void) { return PyRun_SimpleString("x"); }
    int caller(void) { return exported() + (int)second++; }
    long *variable(void) { return &first; }
    __attribute__((constructor)) static void begin(void) { exported(); }
    __attribute__((destructor)) static void end(void) { exported(); }
    void *PyInit_fixture(void) { return &table; }
"#;

/// What holds for the library in every form.
fn check(bytes: &[u8]) {
    let images = Image::parse_all(bytes).expect("an image");
    let [image] = images.as_slice() else {
        panic!("{} images", images.len())
    };
    assert!(image.problems().is_empty(), "{:?}", image.problems());
    assert_eq!(image.format(), Format::Elf);
    assert_eq!(image.architecture(), Architecture::X86_64);
    assert_eq!(image.soname(), Some("libfixture.so"));
    assert_eq!(image.python_modules().collect::<Vec<_>>(), ["fixture"]);
    assert!(image.build_id().is_some_and(|id| id.len() == 20));

    let caller = image.export("caller").expect("caller");
    let exported = image.export("exported").expect("exported");
    assert!(image.function_at(caller).is_some());
    let function = image.function_at(exported).expect("exported");
    assert!(function.end > function.start && function.end - function.start < 64);
    assert_eq!(
        image.code_range_from(exported + 1).map(|range| range.end),
        Some(function.end)
    );
    assert_eq!(image.symbol_covering(exported + 1), Some("exported"));

    // A call through the PLT to a name of the same file stays in the file.
    let reached = stub_targets(image);
    assert!(reached.contains(&Target::Local(exported)), "{reached:x?}");
    assert!(
        reached.contains(&Target::Import("PyRun_SimpleString")),
        "{reached:x?}"
    );
    assert!(
        reached.contains(&Target::Import("_Py_Dealloc")),
        "{reached:x?}"
    );

    let table = image.export("table").expect("table");
    let hook = image
        .pointer_at(table)
        .and_then(Target::local)
        .expect("a pointer");
    assert!(image.function_at(hook).is_some());
    assert_eq!(image.pointers_to(hook).collect::<Vec<_>>(), [table]);
    let imported = image.export("imported").expect("imported");
    assert_eq!(
        image.target_of_slot(imported),
        Some(Target::Import("_Py_Dealloc"))
    );

    let is_function = |address: &u64| image.function_at(*address).is_some();
    assert!(!image.initializers().is_empty() && image.initializers().iter().all(is_function));
    assert!(!image.finalizers().is_empty() && image.finalizers().iter().all(is_function));

    let slots: Vec<_> = image.thread_locals().collect();
    assert!(
        slots
            .iter()
            .all(|slot| slot.model == ThreadLocalModel::ModulePair),
        "{slots:x?}"
    );
    let own = slots.iter().filter_map(|slot| match slot.variable {
        ThreadLocalVariable::Own(displacement) => Some(displacement),
        ThreadLocalVariable::Import(_) => None,
    });
    assert_eq!(own.count(), slots.len());
    assert!(!slots.is_empty());
}

/// What the calls of all functions reach through stubs.
fn stub_targets<'a>(image: &'a Image<'_>) -> Vec<Target<'a>> {
    let mut reached = Vec::new();
    for function in image.functions() {
        let code = image
            .code(function.start, function.end - function.start)
            .expect("code");
        for (at, window) in (function.start..).zip(code.windows(5)) {
            if let [0xe8 | 0xe9, a, b, c, d] = *window {
                let target = (at + 5).wrapping_add_signed(i32::from_le_bytes([a, b, c, d]).into());
                reached.extend(image.target_of_stub(target));
            }
        }
    }
    reached
}

#[test]
fn images_may_be_shared_between_threads() {
    fn is_shared<T: Send + Sync>() {}
    is_shared::<Image<'_>>();
}

#[test]
fn a_library_is_read_in_every_form() {
    let flags = [
        "-shared",
        "-fPIC",
        "-O1",
        "-Wl,-soname,libfixture.so",
        "-Wl,--build-id=sha1",
    ];
    for more in [
        &["-fcf-protection=none"][..],
        &["-fcf-protection=full", "-Wl,-z,now"],
        &["-s", "-Wl,-z,lazy"],
        &["-s", "-Wl,--hash-style=gnu"],
    ] {
        let bytes = compile("cc", LIBRARY, &[&flags, more].concat());
        check(&bytes);
        check(&without_section_headers(&bytes));
    }
}

#[test]
fn relative_relocations_may_be_packed() {
    let flags = [
        "-shared",
        "-fPIC",
        "-Wl,-soname,libfixture.so",
        "-Wl,--build-id=sha1",
    ];
    check(&compile(
        "cc",
        LIBRARY,
        &[&flags[..], &["-Wl,-z,pack-relative-relocs"]].concat(),
    ));
}

const THREADS: &str = r#"
    #include <thread>
    #include <memory>
    struct Held { ~Held(); };
    void begin(std::shared_ptr<Held> held) { std::thread([held] { (void)held; }).detach(); }
"#;

#[test]
fn a_thread_is_found_by_its_type_information() {
    for flags in [
        &["-shared", "-fPIC", "-O1"][..],
        &["-shared", "-fPIC", "-O1", "-s"],
    ] {
        let bytes = compile("c++", THREADS, flags);
        for bytes in [bytes.clone(), without_section_headers(&bytes)] {
            let images = Image::parse_all(&bytes).expect("an image");
            let classes: Vec<_> = images[0]
                .rtti_classes_named("St6thread11_State_implI")
                .collect();
            let [class] = classes.as_slice() else {
                panic!("{classes:x?}")
            };
            // Destructors and `_M_run`.
            assert_eq!(class.slots.len(), 3, "{class:x?}");
            let functions = class.slots.iter().filter_map(|slot| slot.local());
            let known = functions.filter(|start| images[0].function_at(*start).is_some());
            assert!(known.count() >= 2);
        }
    }
}

#[test]
fn a_program_at_a_fixed_address_has_initializers() {
    let source = "volatile int count; __attribute__((constructor)) static void begin(void) { count++; } int main(void) { return 0; }";
    let bytes = compile("cc", source, &["-no-pie", "-O1"]);
    let images = Image::parse_all(&bytes).expect("an image");
    let begin = images[0]
        .symbols()
        .iter()
        .find(|symbol| symbol.name == "begin");
    let begin = begin.expect("the constructor").address;
    assert!(
        images[0].initializers().contains(&begin),
        "{:x?}",
        images[0].initializers()
    );
}

#[test]
fn other_files_are_refused_with_a_reason() {
    let refused = |bytes: &[u8]| Image::parse_all(bytes).expect_err("no image");
    assert!(matches!(refused(b"print()"), ImageError::NotABinary { .. }));
    assert!(matches!(refused(b""), ImageError::NotABinary { .. }));
    assert!(matches!(refused(b"MZ only"), ImageError::NotABinary { .. }));
    let object = compile("cc", "int nothing;", &["-c"]);
    assert!(matches!(refused(&object), ImageError::UnsupportedKind(_)));
    let mut other = compile("cc", LIBRARY, &["-shared", "-fPIC"]);
    other[18] = 0xf3;
    assert!(matches!(
        refused(&other),
        ImageError::UnsupportedArchitecture(_)
    ));
    other[18] = 0x3e;
    assert!(matches!(
        refused(&other[..40]),
        ImageError::Malformed { .. }
    ));
}
