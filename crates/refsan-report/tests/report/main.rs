//! Every rendering of every kind of report, as snapshots, and the machine formats against the
//! published schema.
#![forbid(unsafe_code)]

mod machine;
mod sample;
mod schema;
mod text;

use std::io::{self, Write};

use refsan_model::Report;
use refsan_report::{Format, Options, render};

fn rendered(report: &Report, format: Format, options: &Options) -> String {
    let mut out = Vec::new();
    render(report, format, options, &mut out).expect("writing into memory cannot fail");
    String::from_utf8(out).expect("every format is UTF-8")
}

/// Takes a few bytes, then is full.
struct FullDisk(usize);

impl Write for FullDisk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self
            .0
            .checked_sub(bytes.len())
            .ok_or(io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_is_an_error() {
    let report = sample::report(sample::each_rule(), vec![sample::process(4700)]);
    for format in Format::ALL {
        for room in [0, 100, 1_000] {
            let error = render(&report, format, &Options::default(), &mut FullDisk(room))
                .expect_err("the disk is full");
            assert_eq!(error.kind(), io::ErrorKind::StorageFull, "{format}");
        }
    }
}
