//! Names as people write them.

/// What compilers append to the name of a function that they split, cloned or specialized.
const CLONE_SUFFIXES: [&str; 11] = [
    "cold",
    "constprop",
    "isra",
    "llvm",
    "localalias",
    "lto_priv",
    "part",
    "unlikely",
    "warm",
    "hot",
    "clone",
];
/// Depth at which a C++ name is left as it is.
const RECURSION_LIMIT: u32 = 256;

/// The readable form of a symbol's name; names that are not mangled come back as they are.
///
/// The parameters of a C++ function stay, since overloads differ in nothing else; its return type
/// and the hash of a Rust function go, since people search by what the name begins with.
pub(crate) fn demangle(name: &str) -> String {
    let base = without_clone_suffix(name);
    if let Ok(rust) = rustc_demangle::try_demangle(base) {
        return format!("{rust:#}");
    }
    cpp(base).unwrap_or_else(|| base.to_owned())
}

fn cpp(name: &str) -> Option<String> {
    if !name.starts_with("_Z") && !name.starts_with("___Z") {
        return None;
    }
    let parsing = cpp_demangle::ParseOptions::default().recursion_limit(RECURSION_LIMIT);
    let printing = cpp_demangle::DemangleOptions::new()
        .no_return_type()
        .recursion_limit(RECURSION_LIMIT);
    let symbol = cpp_demangle::Symbol::new_with_options(name, &parsing).ok()?;
    symbol.demangle_with_options(&printing).ok()
}

fn without_clone_suffix(name: &str) -> &str {
    let is_suffix = |part: &&str| CLONE_SUFFIXES.contains(part);
    let mut end = 0;
    for part in name.split('.') {
        if end > 1 && is_suffix(&part) {
            return &name[..end - 1];
        }
        end += part.len() + 1;
    }
    name
}

#[cfg(test)]
mod tests {
    use super::demangle;

    #[test]
    fn names_of_c_stay() {
        assert_eq!(demangle("PyObject_Free"), "PyObject_Free");
        assert_eq!(demangle("_Py_Dealloc"), "_Py_Dealloc");
        assert_eq!(demangle(""), "");
        assert_eq!(demangle("_Z"), "_Z");
    }

    #[test]
    fn names_of_cpp_are_readable() {
        assert_eq!(demangle("_ZN4pool5drainEi"), "pool::drain(int)");
        assert_eq!(demangle("_ZN4poolD1Ev"), "pool::~pool()");
        assert_eq!(
            demangle("_Z4swapIiEvRT_S1_"),
            "swap<int>(int&, int&)",
            "the return type of a template is left out"
        );
    }

    #[test]
    fn names_of_rust_are_readable_and_lose_their_hash() {
        assert_eq!(
            demangle("_ZN4core3ptr13drop_in_place17h0123456789abcdefE"),
            "core::ptr::drop_in_place"
        );
        assert_eq!(demangle("_RNvC6_123foo3bar"), "123foo::bar");
    }

    #[test]
    fn pieces_of_a_function_carry_its_name() {
        assert_eq!(demangle("release.cold"), "release");
        assert_eq!(demangle("release.constprop.0"), "release");
        assert_eq!(demangle("release.part.0.isra.0"), "release");
        assert_eq!(demangle("_ZN4pool5drainEi.part.0.cold"), "pool::drain(int)");
        assert_eq!(
            demangle("_ZN4core3ptr13drop_in_place17h0123456789abcdefE.llvm.12345"),
            "core::ptr::drop_in_place"
        );
        assert_eq!(demangle("keep.this"), "keep.this");
        assert_eq!(demangle(".part"), ".part");
    }
}
