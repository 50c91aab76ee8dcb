//! Turns `capi.csv` into a sorted constant array, so that a lookup needs no allocation.
use std::fmt::Write as _;

fn main() {
    println!("cargo::rerun-if-changed=capi.csv");
    let mut reader = csv::Reader::from_path("capi.csv").expect("capi.csv is readable");
    let mut table = String::from("&[\n");
    let mut previous = String::new();
    for row in reader.records() {
        let row = row.expect("capi.csv is well formed");
        let (name, kind) = (&row[0], &row[1]);
        assert!(
            name.as_bytes() > previous.as_bytes(),
            "capi.csv is not sorted at {name}"
        );
        previous = name.to_owned();
        if kind != "function" {
            continue;
        }
        let need = match &row[4] {
            "required" => "Required",
            "not_required" => "NotRequired",
            "special" => "Special",
            "unknown" => "Unknown",
            other => panic!("{name}: unknown thread_state {other}"),
        };
        let role = match &row[6] {
            "-" => "Other",
            "release" => "Release",
            "attach" => "Attach",
            "detach" => "Detach",
            "initialize" => "Initialize",
            "finalize" => "Finalize",
            other => panic!("{name}: unknown role {other}"),
        };
        let hazard = match &row[8] {
            "no" => "None",
            "stored" => "Stored",
            "compared" => "Compared",
            other => panic!("{name}: unknown address_hazard {other}"),
        };
        let (reads_only, may_detach) = (&row[7] == "yes", &row[5] == "may_detach");
        writeln!(
            table,
            "Function {{ name: {name:?}, need: Need::{need}, role: Role::{role}, reads_only: {reads_only}, may_detach: {may_detach}, hazard: AddressHazard::{hazard} }},"
        )
        .expect("writing to a string");
    }
    table.push_str("]\n");
    let out =
        std::path::Path::new(&std::env::var("OUT_DIR").expect("set by cargo")).join("table.rs");
    std::fs::write(out, table).expect("OUT_DIR is writable");
}
