//! The trace: what a watched process leaves behind.
//!
//! The process maps the file shared and writes into it, so everything recorded is kept by the
//! kernel however the process ends. The writer never allocates and never locks; the reader trusts
//! nothing. Whatever a person reads is computed from a trace afterwards.
//!
//! A file is a [`layout::Header`], a table of call sites, a table of threads, and then records,
//! appended. Offsets and sizes stand in the header, so a reader can step over what it does not know.
#![cfg_attr(not(any(feature = "reader", test)), no_std)]
#![cfg_attr(not(feature = "writer"), forbid(unsafe_code))]

pub mod layout;
#[cfg(feature = "reader")]
mod reader;
#[cfg(feature = "writer")]
mod writer;

#[cfg(feature = "reader")]
pub use reader::{
    Damage, Event, Module, PythonFrame, PythonStack, Site, Slot, StackMemory, Thread, Trace,
    TraceError,
};
#[cfg(feature = "writer")]
pub use writer::{CreateError, SiteKey, ThreadCell, Writer};
