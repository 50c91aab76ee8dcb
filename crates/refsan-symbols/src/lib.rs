//! Turns recorded snapshots into named native stacks, after the watched process is gone.
//!
//! A trace holds registers, a piece of stack memory and the list of mapped binaries; everything
//! else comes from the files on disk. What a file cannot tell is left open: a wrong name is worse
//! than none, since people search the code that it names.
#![forbid(unsafe_code)]

mod binary;
mod call_site;
mod cfi;
mod code;
mod debug_file;
mod demangle;
mod exit_stage;
mod exits;
mod function_ranges;
mod glibc;
mod image;
mod imports;
mod jump_scan;
mod symbol_table;
mod symbolizer;
mod tail_callers;
mod unwind;
mod warning;

pub use call_site::{CANDIDATE_LIMIT, CallSite, TailCaller};
pub use exit_stage::ExitStage;
pub use function_ranges::FunctionRange;
pub use symbolizer::Symbolizer;
pub use unwind::{FRAME_LIMIT, Unwound};
pub use warning::SymbolWarning;
