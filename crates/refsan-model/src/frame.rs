//! Stacks and the frames in them, native and Python alike.

use serde::{Deserialize, Serialize};

/// What a stack shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StackRole {
    /// Where the thread gave up its thread state.
    Detached,
    /// Where the object was released.
    Released,
    /// Where the C-API function was called.
    Called,
    /// Where the thread asked for its thread state.
    Attached,
    /// The Python code that the faulty thread was running.
    Python,
    /// The Python code that another thread was running at that moment.
    OtherThread,
}

/// The language of a stack's frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StackKind {
    /// Machine code frames.
    Native,
    /// Python frames.
    Python,
}

/// One call stack, innermost frame first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stack {
    /// What the stack shows.
    pub role: StackRole,
    /// The language of the frames.
    pub kind: StackKind,
    /// A sentence for people, for example `the object was released here`.
    pub title: String,
    /// The thread's id, where it is known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tid: Option<u32>,
    /// The frames, innermost first.
    pub frames: Vec<Frame>,
    /// More frames existed than were recorded.
    pub truncated: bool,
}

/// One frame of a stack.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frame {
    /// The function, demangled; `None` where no symbol covers the address.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub function: Option<String>,
    /// The base name of the binary; `None` for a Python frame.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub module: Option<String>,
    /// The address as an offset from the load address of the binary, in bytes. It is the address
    /// that disassemblers show for a shared library.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub offset: Option<u64>,
    /// The source file.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub file: Option<String>,
    /// The source line, from 1.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub line: Option<u32>,
    /// The frame was inlined into the one after it.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub inlined: bool,
    /// The frame lies in a module that refsan watches: it is not the interpreter's, the C
    /// library's or refsan's own.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub watched: bool,
    /// The frame belongs to refsan itself; renderers leave it out.
    #[serde(skip)]
    pub own: bool,
}
