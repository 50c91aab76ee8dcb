//! The text formats.

use refsan_model::Fingerprint;
use refsan_report::{Format, Options, Stacks};

use crate::rendered;
use crate::sample::{self, report};

fn full(report: &refsan_model::Report) -> String {
    rendered(report, Format::Full, &Options::default())
}

#[test]
fn each_rule_by_itself() {
    for finding in sample::each_rule() {
        let name = format!("full_{}", finding.rule);
        insta::assert_snapshot!(
            name,
            full(&report(vec![finding], vec![sample::process(4700)]))
        );
    }
}

#[test]
fn the_first_ten_lines_tell_the_fault() {
    for finding in sample::each_rule() {
        let text = full(&report(vec![finding.clone()], vec![sample::process(4700)]));
        let head: Vec<&str> = text
            .lines()
            .skip_while(|line| !line.contains('['))
            .take(10)
            .collect();
        let head = head.join("\n");
        assert!(head.contains(&finding.message), "{head}");
        assert!(head.contains(&finding.stacks[0].title), "{head}");
    }
}

#[test]
fn all_frames() {
    let report = report(sample::each_rule(), vec![sample::process(4700)]);
    let options = Options {
        stacks: Stacks::Full,
        ..Options::default()
    };
    let text = rendered(&report, Format::Full, &options);
    assert!(!text.contains("left out"), "{text}");
    assert!(!text.contains("refsan_dealloc"), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn no_stacks() {
    let report = report(sample::each_rule(), vec![sample::process(4700)]);
    let options = Options {
        stacks: Stacks::Off,
        ..Options::default()
    };
    insta::assert_snapshot!(rendered(&report, Format::Full, &options));
}

#[test]
fn no_native_stacks() {
    let report = report(
        vec![sample::release_without_thread_state()],
        vec![sample::process(4700)],
    );
    let options = Options {
        native: false,
        ..Options::default()
    };
    insta::assert_snapshot!(rendered(&report, Format::Full, &options));
}

#[test]
fn colours() {
    let report = report(sample::each_rule(), vec![sample::process(4700)]);
    let options = Options {
        color: true,
        ..Options::default()
    };
    for format in [Format::Full, Format::Concise] {
        let text = rendered(&report, format, &options);
        // Snapshots are for people: the escape character is written as ESC.
        insta::assert_snapshot!(format!("colour_{format}"), text.replace('\u{1b}', "ESC"));

        let plain = rendered(&report, format, &Options::default());
        assert!(!plain.contains('\u{1b}'));
        assert_eq!(without_styles(&text), plain);
    }
}

/// `text` without `ESC [ … m`.
fn without_styles(text: &str) -> String {
    let mut pieces = text.split('\u{1b}');
    let mut plain = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        plain += piece
            .split_once('m')
            .expect("an escape sequence ends with m")
            .1;
    }
    plain
}

#[test]
fn nothing_found() {
    let report = report(vec![], vec![sample::process(4700)]);
    insta::assert_snapshot!("nothing_full", full(&report));
    let concise = rendered(&report, Format::Concise, &Options::default());
    insta::assert_snapshot!("nothing_concise", concise);
}

#[test]
fn nothing_watched_is_no_clean_bill() {
    for processes in [vec![], vec![sample::unwatched(9)]] {
        let report = report(vec![], processes);
        for format in [Format::Full, Format::Concise] {
            let text = rendered(&report, format, &Options::default());
            assert!(text.contains("no claim is made"), "{text}");
            assert!(!text.contains("no findings"), "{text}");
        }
    }
    insta::assert_snapshot!(full(&report(vec![], vec![sample::unwatched(9)])));
}

#[test]
fn one_line_a_finding() {
    let report = report(sample::each_rule(), vec![sample::process(4700)]);
    let text = rendered(&report, Format::Concise, &Options::default());
    assert_eq!(text.lines().count(), report.findings.len() + 1);
    insta::assert_snapshot!(text);
}

#[test]
fn three_hundred_equal_ones_are_shown_once() {
    let findings = (0..300).map(|index| {
        let mut finding = sample::release_after_finalization();
        finding.process.pid = 4700 + index % 8;
        finding
    });
    let processes = (0..8).map(|index| sample::process(4700 + index)).collect();
    let report = report(findings.collect(), processes);
    insta::assert_snapshot!("equal_full", full(&report));
    let concise = rendered(&report, Format::Concise, &Options::default());
    assert_eq!(concise.lines().count(), 2);
    insta::assert_snapshot!("equal_concise", concise);

    let apart = Options {
        dedup: false,
        ..Options::default()
    };
    assert_eq!(
        rendered(&report, Format::Concise, &apart).lines().count(),
        301
    );
}

#[test]
fn at_most_so_many() {
    let findings = (0..40).map(|index: u32| {
        let mut finding = sample::call_after_finalization();
        finding.fingerprint = Fingerprint::of([index.to_string().as_str()]);
        finding
    });
    let report = report(findings.collect(), vec![sample::process(4700)]);
    let options = Options {
        max_findings: Some(1),
        ..Options::default()
    };
    insta::assert_snapshot!("limited_full", rendered(&report, Format::Full, &options));
    insta::assert_snapshot!(
        "limited_concise",
        rendered(&report, Format::Concise, &options)
    );
    let none = Options {
        max_findings: Some(0),
        ..Options::default()
    };
    assert!(rendered(&report, Format::Full, &none).contains("… and 40 more findings"));
}

#[test]
fn hostile_names_are_neutralised() {
    let report = sample::hostile();
    for stacks in [Stacks::Short, Stacks::Full, Stacks::Off] {
        for format in [Format::Full, Format::Concise] {
            let text = rendered(
                &report,
                format,
                &Options {
                    stacks,
                    ..Options::default()
                },
            );
            let acting = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
            assert!(!text.contains(acting), "{text:?}");
            assert!(
                !text.lines().any(|line| line.starts_with("error[RS999]")),
                "{text}"
            );
        }
    }
    insta::assert_snapshot!("hostile_full", full(&report));
    let concise = rendered(&report, Format::Concise, &Options::default());
    assert_eq!(concise.lines().count(), 2);
    insta::assert_snapshot!("hostile_concise", concise);
}

#[test]
fn trouble_is_named() {
    let processes = vec![sample::troubled(4700), sample::unwatched(4801)];
    insta::assert_snapshot!(full(&report(
        vec![sample::release_after_finalization()],
        processes
    )));
}

#[test]
fn many_modules_and_processes_are_summarised() {
    let mut process = sample::process(4700);
    process
        .modules
        .extend((0..40).map(|index| sample::module(&format!("_part{index:02}.so"), 1_000 + index)));
    process.modules.extend(
        (0..60).map(|index| sample::skipped(&format!("_std{index:02}.so"), "standard library")),
    );
    let others = (1..30).map(|index| sample::process(4700 + index));
    let processes = [process].into_iter().chain(others).collect();
    let text = full(&report(
        vec![sample::release_after_finalization()],
        processes,
    ));
    assert!(text.lines().count() < 90, "{text}");
    insta::assert_snapshot!(text);
}
