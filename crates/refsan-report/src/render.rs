//! The renderers, one a file.

pub(crate) mod concise;
pub(crate) mod full;
pub(crate) mod json;
pub(crate) mod jsonl;
