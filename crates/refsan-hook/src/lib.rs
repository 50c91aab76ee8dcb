//! Redirects the calls that a loaded binary makes through its global offset table.
//!
//! The crate knows nothing of Python: it lists the binaries of the process ([`image`]), the slots
//! through which each calls others ([`slots`]), what each defines ([`symbols`]), writes a slot
//! without leaving a page more writable than before ([`patch`]), and makes the small pieces of code
//! that a slot is pointed at ([`thunk`], [`trampoline`]).
#![no_std]

extern crate alloc;

pub mod image;
pub mod patch;
pub mod slots;
pub mod symbols;
pub mod thunk;
pub mod trampoline;
