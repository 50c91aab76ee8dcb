//! Reads the Python stacks of all threads, and the types of objects, from the
//! memory of a CPython interpreter (3.8 to 3.15, default and free-threaded
//! builds, x86-64), without calling Python and without dereferencing anything:
//! every read goes through [`Memory`], which says no instead of faulting.
//!
//! It runs in a hook, on a thread that may hold no thread state, while other
//! threads change what is read, and after finalization, when it may be freed.
//! So every pointer is checked, every loop is bounded, nothing recurses,
//! allocates or panics, and an answer is "unknown" rather than rubbish.
//!
//! Why not the `py-spy` crate (0.4.3): it samples another process and answers in `Vec`, `String`
//! and `anyhow::Error`, so it allocates where a hook must not, and needs the standard library. Its
//! bindings cover 3.8 to 3.15, but no free-threaded build, and take each release for the first one.
//!
//! Build flags that change every object's header (`--with-trace-refs`) are not
//! supported.
#![no_std]
#![forbid(unsafe_code)]

#[cfg(test)]
extern crate std;

mod bytes;
mod chain;
mod code;
mod dictionary;
mod frame;
mod layout;
mod lines;
mod memory;
mod object;
mod reference_count;
mod string;
mod text;
mod thread;
mod version;

pub use frame::{Frame, for_each_frame};
pub use layout::{Layout, ObjectLayout, ThreadStateLayout, Unsupported};
pub use memory::Memory;
pub use object::object_type_name;
pub use reference_count::{ReferenceCount, reference_count};
pub use thread::{Ending, Thread, ThreadVisitor, for_each_thread};
pub use version::Version;
