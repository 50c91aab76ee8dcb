//! Reads wheels, directories, archives and binaries of Linux, macOS and Windows as [`Image`]s,
//! the input of the audit. Nothing of the input is executed, and all of it is taken as hostile.
#![forbid(unsafe_code)]

mod elf;
mod error;
mod functions;
mod image;
pub mod input;
mod layout;
mod links;
mod macho;
mod names;
mod objc;
mod parts;
mod pe;
mod rtti;
mod stubs;
mod symbols;
mod target;
mod thread_local;

pub use error::ImageError;
pub use functions::FunctionRange;
pub use image::Image;
pub use layout::Section;
pub use links::Import;
pub use objc::{ObjcClass, ObjcMethod, ObjcVariable};
pub use parts::{Architecture, DebugHints, Export, Format};
pub use rtti::RttiClass;
pub use symbols::{Symbol, SymbolKind};
pub use target::Target;
pub use thread_local::{ThreadLocalModel, ThreadLocalSlot, ThreadLocalVariable};
