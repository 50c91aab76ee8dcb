//! What each rule means: one file and one page per rule, and a plain registry.
//!
//! The page says what the fault is, how refsan sees it, where refsan errs, and how to mend it;
//! `refsan rule RS101` prints it. The short texts beside it go into every report.
#![forbid(unsafe_code)]

mod explain;
mod rule;
mod rules;

pub use explain::{explain, index};
pub use rule::{Group, Interpreter, Rule, Situation, Status};
pub use rules::{RULES, consequence, rule};
