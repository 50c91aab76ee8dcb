//! What the fuzz targets share: how the fuzzer's bytes become input that gets past the front door.
#![forbid(unsafe_code)]

pub mod trace;
