//! One file for each verb.

pub mod demo;
pub mod doctor;
pub mod record;
pub mod report;
pub mod rule;
pub mod run;
