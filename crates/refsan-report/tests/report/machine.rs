//! The machine formats: complete, and the same report again when read.

use refsan_model::Report;
use refsan_report::{Format, Options};
use serde_json::Value;

use crate::rendered;
use crate::sample::{self, report};

fn everything() -> Report {
    report(
        sample::each_rule(),
        vec![sample::troubled(4700), sample::unwatched(9)],
    )
}

/// What belongs to refsan itself is no part of the published format.
fn without_own_frames(report: &Report) -> Report {
    let mut report = report.clone();
    for stack in report
        .findings
        .iter_mut()
        .flat_map(|finding| &mut finding.stacks)
    {
        stack.frames.retain(|frame| !frame.own);
    }
    report
}

#[test]
fn json() {
    insta::assert_snapshot!(rendered(&everything(), Format::Json, &Options::default()));
}

#[test]
fn json_is_the_report_again() {
    for report in [everything(), sample::hostile(), report(vec![], vec![])] {
        let text = rendered(&report, Format::Json, &Options::default());
        let read: Report = serde_json::from_str(&text).expect("valid JSON");
        assert_eq!(read, without_own_frames(&report));
    }
}

#[test]
fn options_for_text_take_nothing_away() {
    let report = everything();
    let options = Options {
        max_findings: Some(1),
        color: true,
        ..Options::default()
    };
    for format in [Format::Json, Format::Jsonl] {
        assert_eq!(
            rendered(&report, format, &options),
            rendered(&report, format, &Options::default())
        );
    }
}

#[test]
fn jsonl_is_one_finding_a_line_and_then_the_coverage() {
    let report = everything();
    let text = rendered(&report, Format::Jsonl, &Options::default());
    let whole: Value = serde_json::to_value(without_own_frames(&report)).expect("a report is JSON");
    let mut lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("valid JSON"))
        .collect();

    let last = lines.pop().expect("a coverage line");
    assert_eq!(last["kind"], "coverage");
    assert_eq!(last["schema_version"], whole["schema_version"]);
    assert_eq!(last["tool_version"], whole["tool_version"]);
    assert_eq!(last["processes"], whole["coverage"]["processes"]);

    assert_eq!(lines.len(), report.findings.len());
    for (line, finding) in lines
        .iter_mut()
        .zip(whole["findings"].as_array().expect("an array"))
    {
        let kind = line.as_object_mut().expect("an object").remove("kind");
        assert_eq!(kind, Some(Value::from("finding")));
        assert_eq!(line, finding);
    }
    insta::assert_snapshot!(text);
}
