//! Where every field lies, for one interpreter.
//!
//! `offsets/offsets.c` prints what is tabulated in the modules below.

mod debug_offsets;
mod object;
mod table;

use crate::memory::{Memory, read_u64};
use crate::version::Version;
pub(crate) use object::Counting;
pub use object::ObjectLayout;

/// Everything that must be known of an interpreter to read its threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The interpreter that it fits.
    pub version: Version,
    /// Objects, which need no runtime to be read.
    pub objects: ObjectLayout,
    /// `PyThreadState`.
    pub thread_state: ThreadStateLayout,
    pub(crate) runtime_interpreters: u64,
    pub(crate) interpreter: InterpreterLayout,
    pub(crate) frame: FrameLayout,
    pub(crate) code: CodeLayout,
}

/// Offsets in `PyThreadState`, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadStateLayout {
    /// `PyInterpreterState *`.
    pub interp: u64,
    /// `pthread_self()` of its thread, `unsigned long`.
    pub thread_id: u64,
    /// `gettid()` of its thread, `unsigned long`; since 3.11.
    pub native_thread_id: Option<u64>,
    pub(crate) next: u64,
    pub(crate) frame: FramePointer,
}

/// How a thread state leads to its innermost frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FramePointer {
    /// By a field of its own.
    Field(u64),
    /// Through a structure on the C stack (3.11, 3.12).
    Indirect { cframe: u64, current: u64 },
}

/// Offsets in `PyInterpreterState`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InterpreterLayout {
    pub(crate) id: u64,
    pub(crate) next: u64,
    pub(crate) threads: u64,
}

/// Offsets in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameLayout {
    pub(crate) previous: u64,
    pub(crate) code: u64,
    pub(crate) position: Position,
}

/// Where a frame is in its code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Position {
    /// `f_lasti` of a frame object (up to 3.10), counted in `unit` bytes, -1 before the start.
    Index { lasti: u64, unit: u64 },
    /// An address in the code, and whose frame it is (3.11+).
    Address {
        instruction: u64,
        owner: u64,
        last_owner: u8,
        bytecode_index: Option<u64>,
    },
}

/// Offsets in `PyCodeObject`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CodeLayout {
    pub(crate) filename: u64,
    /// `co_qualname` where there is one, else `co_name`.
    pub(crate) function: u64,
    pub(crate) first_line: u64,
    pub(crate) lines: u64,
    pub(crate) format: LineFormat,
    /// Instructions inside the code object (3.11+).
    pub(crate) body: Option<BodyLayout>,
}

/// Offsets of a code object's instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BodyLayout {
    pub(crate) first_traceable: u64,
    pub(crate) instructions: u64,
    /// Copies per thread (free-threaded 3.14+).
    pub(crate) copies: Option<u64>,
}

/// How a code object maps instructions to lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineFormat {
    /// `co_lnotab` (up to 3.9).
    Increments,
    /// `co_linetable` of 3.10.
    Ranges,
    /// `co_linetable` of 3.11+.
    Locations,
}

/// Why an interpreter cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unsupported {
    /// No layout is known.
    #[error(
        "CPython {0} is not supported: expected 3.8 to 3.15, free-threaded from 3.13; run the \
         program with one of these"
    )]
    Version(Version),
    /// Layouts still change between alphas and betas.
    #[error(
        "CPython {0} is a pre-release whose layout may still change: expected a release candidate \
         or a release; run the program with one"
    )]
    Unsettled(Version),
    /// `_PyRuntime` is not where it was said to be.
    #[error("no memory can be read at {0:#x}: expected `_PyRuntime`; check how it was looked up")]
    Unreadable(u64),
    /// 3.13+ describe themselves at the start of `_PyRuntime`.
    #[error(
        "expected `xdebugpy` at {address:#x}, the start of `_PyRuntime`, found {found:#018x}; \
         check how it was looked up"
    )]
    Cookie {
        /// Address of `_PyRuntime`.
        address: u64,
        /// The eight bytes found there, as a little-endian number.
        found: u64,
    },
    /// The interpreter's own description is of another version or kind of build.
    #[error(
        "expected `_PyRuntime` of version {expected:#010x}, found {found:#010x}; check that only \
         one interpreter is loaded"
    )]
    OtherVersion {
        /// `PY_VERSION_HEX` that was asked for.
        expected: u32,
        /// The version that `_PyRuntime` gives.
        found: u64,
    },
    /// The interpreter's own description is of the other kind of build.
    #[error(
        "expected free-threaded = {expected} in `_PyRuntime`, found {found}; check that only one \
         interpreter is loaded"
    )]
    OtherBuild {
        /// 1 for a free-threaded build.
        expected: u64,
        /// What `_PyRuntime` says.
        found: u64,
    },
    /// The interpreter's own description contradicts itself or the object layouts of its version.
    #[error(
        "`_PyRuntime` puts {field} at {found}, expected {expected}; this interpreter was changed: \
         run the program with an unmodified one"
    )]
    Offset {
        /// Name of the field.
        field: &'static str,
        /// Its offset in bytes.
        found: u64,
        /// The only right offset, or one past the greatest possible one.
        expected: u64,
    },
}

impl Layout {
    /// The layout of the interpreter `version` whose `_PyRuntime` is at `runtime_address`.
    ///
    /// # Errors
    /// When the version is not known, or what lies at `runtime_address` is not its `_PyRuntime`
    /// (this is noticed on 3.13+, which describe themselves).
    pub fn select<M: Memory + ?Sized>(
        version: Version,
        memory: &M,
        runtime_address: u64,
    ) -> Result<Self, Unsupported> {
        let objects = ObjectLayout::of(version)?;
        if version.at_least(13) {
            return debug_offsets::read(version, objects, memory, runtime_address);
        }
        if read_u64(memory, runtime_address).is_none() {
            return Err(Unsupported::Unreadable(runtime_address));
        }
        table::of(version, objects).ok_or(Unsupported::Version(version))
    }
}
