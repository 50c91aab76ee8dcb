//! Runs a program bare and under refsan, each in a scratch directory and within a time limit.

use crate::bounded::{Ending, Outcome, run_bounded};
use crate::program::Program;
use crate::report::Report;
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::Path;
use std::time::Duration;

/// What refsan may take to end a program that hangs, and to report.
const GRACE: Duration = Duration::from_secs(30);

/// The status of `refsan run` for findings although the program succeeded.
const FOUND: i32 = 66;

/// A program that ran under refsan.
#[derive(Debug)]
pub struct Watched {
    /// What the command did as a whole.
    pub outcome: Outcome,
    /// The report, or why there is none.
    pub report: Result<Report, String>,
}

impl Watched {
    /// The program's own status: refsan's 66 says that it was 0.
    pub fn program_status(&self) -> Option<i32> {
        match self.outcome.ending.status() {
            Some(FOUND) if self.found_anything() => Some(0),
            status => status,
        }
    }

    fn found_anything(&self) -> bool {
        self.report
            .as_ref()
            .is_ok_and(|report| report.findings().next().is_some())
    }

    /// Whether the program ended and wrote as `bare` did. Refsan's own lines go to standard
    /// error, so only standard output is compared; `normalise` takes out what varies by itself.
    pub fn behaves_like(&self, bare: &Outcome, normalise: impl Fn(&str) -> String) -> bool {
        self.program_status() == bare.ending.status()
            && normalise(&self.outcome.stdout) == normalise(&bare.stdout)
    }
}

impl fmt::Display for Watched {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "{}", self.outcome)?;
        match &self.report {
            // The coverage of a big program is long, and of use only when nothing was found.
            Ok(report) if self.found_anything() => {
                write!(formatter, "--- findings\n{:#}", report.value()["findings"])
            }
            Ok(report) => write!(formatter, "--- report\n{:#}", report.value()),
            Err(reason) => write!(formatter, "--- no report: {reason}"),
        }
    }
}

/// Runs the program by itself.
///
/// # Errors
/// It cannot be started, or there is no place for scratch files.
pub fn run_bare(program: &Program, limit: Duration) -> io::Result<Outcome> {
    let scratch = tempfile::tempdir()?;
    run_bounded(&mut program.command(&[], scratch.path()), limit)
}

/// Runs the program under `refsan run`, with a JSON report. Refsan is told to end the program
/// after `limit` (whole seconds), and is itself ended some time later.
///
/// # Errors
/// `refsan` cannot be started, or there is no place for scratch files.
pub fn run_watched(refsan: &Path, program: &Program, limit: Duration) -> io::Result<Watched> {
    let scratch = tempfile::tempdir()?;
    // Beside, not in, the program's directory, which is to look as it does bare.
    let elsewhere = tempfile::tempdir()?;
    let file = elsewhere.path().join("report.json");
    let mut launcher: Vec<OsString> = vec![refsan.into(), "run".into()];
    launcher.extend(["--timeout".into(), limit.as_secs().to_string().into()]);
    launcher.extend(["--trace-dir".into(), elsewhere.path().into()]);
    launcher.extend([
        "--format".into(),
        "json".into(),
        "-o".into(),
        file.clone().into(),
    ]);
    launcher.push("--".into());
    let mut command = program.command(&launcher, scratch.path());
    let outcome = run_bounded(&mut command, limit + GRACE)?;
    let report = match std::fs::read_to_string(&file) {
        Ok(text) => Report::parse(&text),
        Err(error) if outcome.ending == Ending::TimedOut => Err(format!(
            "refsan was killed when its time was over ({error})"
        )),
        Err(error) => Err(format!("refsan wrote no report file: {error}")),
    };
    Ok(Watched { outcome, report })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(20);

    // Stands in for refsan: runs what follows `--`, then writes `$REPORT` and exits with 66.
    fn stand_in(directory: &Path) -> std::path::PathBuf {
        let path = directory.join("launcher");
        let script = "#!/bin/sh\nwhile [ \"$1\" != -- ]; do file=$1; shift; done\nshift\n\"$@\"\necho \"$REPORT\" > \"$file\"\nexit 66\n";
        // Another process writes it: a descriptor that is open for writing here could slip into
        // a child that another test starts, and the file would be busy.
        let write = "printf %s \"$0\" > \"$1\" && chmod +x \"$1\"";
        let mut command = std::process::Command::new("sh");
        assert!(
            command
                .args(["-c", write, script])
                .arg(&path)
                .status()
                .unwrap()
                .success()
        );
        path
    }

    #[test]
    fn the_report_is_read_and_66_with_findings_means_success() {
        let directory = tempfile::tempdir().unwrap();
        let launcher = stand_in(directory.path());
        let program = Program::new("echo").argument("took 0.3 s");
        let bare = run_bare(&program, LIMIT).unwrap();
        let watch = |report: &str| {
            let program = program.clone().variable("REPORT", report);
            run_watched(&launcher, &program, LIMIT).unwrap()
        };
        let watched = watch(r#"{"findings": [{"rule": "RS101"}]}"#);
        assert!(watched.report.is_ok());
        assert!(watched.behaves_like(&bare, str::to_string));
        // 66 without a finding is not the program's success.
        assert!(!watch(r#"{"findings": []}"#).behaves_like(&bare, str::to_string));
        assert!(watch("rubbish").report.is_err());
    }

    #[test]
    fn other_output_is_no_equal_behaviour() {
        let directory = tempfile::tempdir().unwrap();
        let launcher = stand_in(directory.path());
        let bare = run_bare(&Program::new("echo").argument("a"), LIMIT).unwrap();
        let other = Program::new("echo")
            .argument("b")
            .variable("REPORT", r#"{"findings": [1]}"#);
        let watched = run_watched(&launcher, &other, LIMIT).unwrap();
        assert!(!watched.behaves_like(&bare, str::to_string));
        assert!(watched.behaves_like(&bare, |text| text.replace('b', "a")));
    }

    #[test]
    fn a_missing_report_gives_its_reason() {
        let watched = run_watched(Path::new("/bin/true"), &Program::new("true"), LIMIT).unwrap();
        assert!(watched.report.unwrap_err().contains("wrote no report"));
    }
}
