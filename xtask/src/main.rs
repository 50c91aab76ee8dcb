//! The one developer door: `cargo xtask <task>`.
#![forbid(unsafe_code)]

fn main() {}
