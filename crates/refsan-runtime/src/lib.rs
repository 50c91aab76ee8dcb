//! The library that is preloaded into the watched process.
//!
//! It starts in its constructor ([`start`]), finds the interpreter and the modules that use it
//! ([`modules`]), and sends their calls of the C-API through thunks. A thunk lets a call pass when
//! the thread is attached; otherwise, and around every attach and detach, the code in [`hooks`]
//! runs and writes what it saw into the trace ([`record`]).
//!
//! Rules of the house: nothing in a hook allocates, takes a lock that the program could hold, calls
//! Python or prints. Memory that is not known to be alive is read through [`memory`]. No destructor
//! of ours runs anywhere. The library uses nothing but libc, so that it brings no other library
//! into the process.
#![no_std]

extern crate alloc;

#[cfg(feature = "preload")]
mod allocator;
mod errno;
mod getter;
mod hooks;
mod interpreter;
mod life;
mod memory;
mod message;
mod modules;
mod options;
mod process;
mod record;
mod start;
mod state;
mod thread;
#[cfg(feature = "preload")]
mod unwinding;
