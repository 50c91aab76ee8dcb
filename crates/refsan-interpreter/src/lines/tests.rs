//! Every instruction's line is what the interpreter that wrote the table says.

use super::line;
use crate::layout::LineFormat::{self, Increments, Locations, Ranges};
use proptest::prelude::{any, proptest};
use std::vec::Vec;

/// Compares the tables of a file made by `tests/fixtures/lines.py`.
fn compare(format: LineFormat, fixture: &str) {
    let mut instructions = 0;
    for block in fixture.split("code ").skip(1) {
        let mut rows = block.lines();
        let head: Vec<&str> = rows.next().unwrap().split(' ').collect();
        let first: i32 = head[0].parse().unwrap();
        let length: i64 = head[1].parse().unwrap();
        let digits = head[2].trim_end_matches('-').as_bytes();
        let table: Vec<u8> = digits
            .chunks(2)
            .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
            .collect();
        let changes: Vec<(i64, u32)> = rows
            .map(|row| row.split_once(' ').unwrap())
            .map(|(offset, line)| (offset.parse().unwrap(), line.parse().unwrap()))
            .collect();
        for offset in (0..length).step_by(2) {
            let expected = changes
                .iter()
                .rev()
                .find(|change| change.0 <= offset)
                .unwrap()
                .1;
            let found = line(format, table.iter().copied(), first, offset).unwrap_or(0);
            assert_eq!(
                found, expected,
                "offset {offset} of the code at line {first}"
            );
            instructions += 1;
        }
        assert_eq!(
            line(format, table.iter().copied(), first, -2),
            u32::try_from(first).ok()
        );
    }
    assert!(instructions > 400);
}

macro_rules! compared {
    ($($name:ident $format:ident $file:literal)*) => {$(
        #[test]
        fn $name() {
            compare($format, include_str!(concat!("../../tests/fixtures/lines/", $file, ".txt")));
        }
    )*};
}

compared! {
    of_3_8 Increments "3.8"
    of_3_9 Increments "3.9"
    of_3_10 Ranges "3.10"
    of_3_11 Locations "3.11"
    of_3_12 Locations "3.12"
    of_3_13 Locations "3.13"
    of_3_14 Locations "3.14"
    of_3_15 Locations "3.15"
}

proptest! {
    #[test]
    fn any_table_gives_an_answer(table: Vec<u8>, first in any::<i32>(), offset in any::<i64>()) {
        for format in [Increments, Ranges, Locations] {
            let found = line(format, table.iter().copied(), first, offset);
            assert_ne!(found, Some(0));
        }
    }
}
