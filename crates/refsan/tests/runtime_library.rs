//! What the preloaded library brings into a process: nothing but itself.

use object::{Object, ObjectSymbol};

static LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/librefsan_runtime.so"));

#[test]
fn it_exports_nothing_and_needs_only_the_c_library() {
    if LIBRARY.is_empty() {
        println!("skipped: this platform has no runtime");
        return;
    }
    let file = object::File::parse(LIBRARY).unwrap();
    let exported: Vec<&str> = file
        .dynamic_symbols()
        .filter(|symbol| symbol.is_definition())
        .filter_map(|symbol| symbol.name().ok())
        .collect();
    assert_eq!(exported, [""; 0]);
    let mut libraries: Vec<String> = file
        .imports()
        .unwrap()
        .map(|import| String::from_utf8_lossy(import.unwrap().library()).into_owned())
        .filter(|library| !library.is_empty())
        .collect();
    libraries.sort();
    libraries.dedup();
    assert!(
        libraries
            .iter()
            .all(|name| name.starts_with("libc.so") || name.starts_with("ld-linux")),
        "{libraries:?}"
    );
}

#[test]
fn it_never_unwinds() {
    let file = object::File::parse(LIBRARY).unwrap();
    let undefined: Vec<&str> = file
        .dynamic_symbols()
        .filter(|symbol| symbol.is_undefined())
        .filter_map(|symbol| symbol.name().ok())
        .collect();
    assert!(undefined.contains(&"dl_iterate_phdr"), "{undefined:?}");
    assert!(
        !undefined
            .iter()
            .any(|name| name.contains("Unwind") || name.contains("personality"))
    );
}
