//! The C-API of CPython 3.8 to 3.15 as data.
//!
//! `capi.csv` is the one place that says what a function needs of the calling thread. It holds the
//! union of the dynamic symbols of all these versions, the free-threaded builds included; how each
//! column was derived stands in `README.md` beside it. The runtime, the detector and the
//! documentation read it through this crate.
#![no_std]
#![forbid(unsafe_code)]

/// What a function needs of the calling thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// An attached thread state.
    Required,
    /// Nothing: it may be called on any thread.
    NotRequired,
    /// It depends on the phase or the version; never reported.
    Special,
    /// Not known; never reported.
    Unknown,
}

/// What a function does to a thread state or an object, as far as refsan treats it apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It releases the object that is its first argument.
    Release,
    /// It attaches a thread state and may wait for that.
    Attach,
    /// It detaches the thread state.
    Detach,
    /// It starts the interpreter.
    Initialize,
    /// It ends the interpreter.
    Finalize,
    /// None of these.
    Other,
}

/// What becomes of the function's address where code takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressHazard {
    /// Nobody is known to take it.
    None,
    /// It is stored in type slots or tables; a replacement that lives as long is as good.
    Stored,
    /// It is compared with; a replacement changes what programs do.
    Compared,
}

/// A function of the C-API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Function {
    /// The symbol.
    pub name: &'static str,
    /// What it needs.
    pub need: Need,
    /// What it does.
    pub role: Role,
    /// It reads its arguments and nothing else.
    pub reads_only: bool,
    /// It may run Python code or detach for a while.
    pub may_detach: bool,
    /// What becomes of its address.
    pub hazard: AddressHazard,
}

/// Every function, sorted by name.
pub static FUNCTIONS: &[Function] = include!(concat!(env!("OUT_DIR"), "/table.rs"));

/// The function with a symbol name; `None` for data, for names outside the C-API and for functions
/// of versions outside 3.8 to 3.15.
pub fn function(name: &str) -> Option<&'static Function> {
    // Nearly every import of a module is none of Python's: turn those away at the first bytes.
    if !(name.starts_with("Py") || name.starts_with("_Py")) {
        return None;
    }
    let index = FUNCTIONS
        .binary_search_by(|function| function.name.cmp(name))
        .ok()?;
    FUNCTIONS.get(index)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_is_found_by_its_name() {
        for expected in FUNCTIONS {
            assert_eq!(function(expected.name), Some(expected));
        }
        assert!(FUNCTIONS.len() > 2500);
    }

    #[test]
    fn the_functions_that_refsan_turns_on_have_their_roles() {
        let role = |name| function(name).map(|function| (function.need, function.role));
        assert_eq!(role("_Py_Dealloc"), Some((Need::Required, Role::Release)));
        assert_eq!(
            role("_Py_DecRefShared"),
            Some((Need::Required, Role::Release))
        );
        assert_eq!(
            role("PyGILState_Ensure"),
            Some((Need::NotRequired, Role::Attach))
        );
        assert_eq!(
            role("PyEval_SaveThread"),
            Some((Need::Required, Role::Detach))
        );
        assert_eq!(
            role("PyMem_RawFree"),
            Some((Need::NotRequired, Role::Other))
        );
        assert_eq!(role("PyType_Type"), None, "data is no function");
        assert_eq!(role("malloc"), None);
    }

    #[test]
    fn only_readers_read_only() {
        let reads_only = |name| function(name).is_some_and(|function| function.reads_only);
        for reader in ["PyList_Size", "PyTuple_GetItem", "PyCapsule_GetPointer"] {
            assert!(reads_only(reader), "{reader}");
        }
        for writer in [
            "Py_IncRef",
            "PyObject_GC_UnTrack",
            "PyMem_Calloc",
            "PyErr_Occurred",
        ] {
            assert!(!reads_only(writer), "{writer}");
        }
    }
}
