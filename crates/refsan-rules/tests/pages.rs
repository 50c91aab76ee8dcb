//! The pages keep their promises: the same headings everywhere, short enough to be read, and code
//! that compiles.
#![forbid(unsafe_code)]

use std::io::Write;
use std::process::{Command, Stdio};

use refsan_model::RuleId;
use refsan_rules::{RULES, Rule, explain};
use refsan_testkit::{Interpreter, Skip};

const HEADINGS: [&str; 8] = [
    "What it is",
    "Why it is bad",
    "Example",
    "How refsan sees it",
    "False positives",
    "False negatives",
    "The cure",
    "References",
];

#[test]
fn every_page_has_the_same_headings() {
    for rule in RULES {
        let headings: Vec<&str> = rule
            .page
            .lines()
            .filter_map(|line| line.strip_prefix("## "))
            .collect();
        assert_eq!(headings, HEADINGS, "{}", rule.id);
    }
}

#[test]
fn a_page_begins_with_its_rule() {
    for id in RuleId::ALL {
        let text = explain(id);
        let title = format!("# {} ({})\n", id.name(), id.code());
        assert!(text.starts_with(&title), "{text}");
        assert!(
            text[title.len()..].starts_with("\nA"),
            "a sentence follows: {text}"
        );
        assert!(text.ends_with('\n') && !text.ends_with("\n\n"), "{id}");
    }
}

/// At 250 words a minute; tables and code are skimmed, so they count for half.
#[test]
fn a_page_takes_three_minutes() {
    for rule in RULES {
        let (mut prose, mut skimmed) = (0, 0);
        let mut in_code = false;
        for line in rule.page.lines() {
            in_code ^= line.starts_with("```");
            let words = line.split_whitespace().count();
            *if in_code || line.starts_with('|') {
                &mut skimmed
            } else {
                &mut prose
            } += words;
        }
        assert!(
            prose + skimmed / 2 <= 750,
            "{}: {prose} + {skimmed} / 2 words",
            rule.id
        );
    }
}

#[test]
fn a_page_fits_into_a_terminal() {
    for rule in RULES {
        for line in rule.page.lines().filter(|line| !line.starts_with('|')) {
            assert!(line.chars().count() <= 100, "{}: {line}", rule.id);
            assert!(!line.contains('\t'), "{}: {line}", rule.id);
        }
    }
}

#[test]
fn the_cure_names_the_3_15_way_first() {
    for rule in RULES {
        let cure = rule.page.split("## The cure").nth(1).expect("the heading");
        let first = cure
            .find("PyThreadState_EnsureFromView")
            .expect("the 3.15 way");
        let second = cure.find("PyGILState_Ensure").unwrap_or(usize::MAX);
        assert!(first < second, "{}", rule.id);
    }
}

/// A fenced block with its language and purpose, for example `c` and `cure`.
struct Block<'a> {
    language: &'a str,
    purpose: &'a str,
    code: &'a str,
}

fn blocks(rule: &Rule) -> Vec<Block<'static>> {
    // Fences come in pairs: every second piece is the inside of one.
    rule.page
        .split("```")
        .skip(1)
        .step_by(2)
        .map(|inside| {
            let (info, code) = inside.split_once('\n').expect("a fence has an end");
            let (language, purpose) = info.split_once(' ').expect("a language and a purpose");
            Block {
                language,
                purpose,
                code,
            }
        })
        .collect()
}

#[test]
fn every_page_shows_the_fault_and_the_cure() {
    for rule in RULES {
        let blocks = blocks(rule);
        for block in &blocks {
            assert!(
                ["c", "cpp"].contains(&block.language),
                "{}: {}",
                rule.id,
                block.language
            );
            assert!(["example", "cure"].contains(&block.purpose), "{}", rule.id);
        }
        for purpose in ["example", "cure"] {
            assert!(
                blocks.iter().any(|block| block.purpose == purpose),
                "{}: {purpose}",
                rule.id
            );
        }
        let example = blocks.iter().find(|block| block.purpose == "example");
        let code = rule.id.code();
        assert!(
            example.is_some_and(|block| block.code.contains(code)),
            "{code} marks its line"
        );
    }
}

/// The oldest and the newest interpreter with headers: the blocks depend on the version.
fn interpreters() -> Vec<&'static Interpreter> {
    let with_headers: Vec<_> = Interpreter::all()
        .iter()
        .filter(|interpreter| !interpreter.include.is_empty())
        .collect();
    match with_headers.as_slice() {
        [] => Vec::new(),
        [one] => vec![one],
        [oldest, .., newest] => vec![oldest, newest],
    }
}

/// What the compiler says, if it refuses.
fn complaint(interpreter: &Interpreter, language: &str, code: &str) -> Option<String> {
    let (compiler, kind) = match language {
        "cpp" => ("c++", "c++"),
        _ => ("cc", "c"),
    };
    let mut command = Command::new(compiler);
    command.args(["-x", kind, "-fsyntax-only", "-Wall", "-Werror"]);
    command.args(
        interpreter
            .include
            .iter()
            .map(|path| format!("-I{}", path.display())),
    );
    let mut child = command
        .arg("-")
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the compiler starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    write!(stdin, "#include <Python.h>\n{code}").expect("the compiler reads");
    drop(stdin);
    let output = child.wait_with_output().expect("the compiler ends");
    (!output.status.success()).then(|| String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn the_code_compiles() {
    if Command::new("cc").arg("--version").output().is_err() {
        return Skip::new("the code in the pages", "no C compiler `cc` was found").print();
    }
    let interpreters = interpreters();
    if interpreters.is_empty() {
        Skip::new("the code in the pages", "no interpreter has headers").print();
    }
    for interpreter in interpreters {
        let broken = complaint(interpreter, "c", "int unfinished(void) { return }");
        assert!(broken.is_some(), "the check itself is without teeth");
        for rule in RULES {
            for block in blocks(rule) {
                if let Some(text) = complaint(interpreter, block.language, block.code) {
                    panic!("{} ({}) on {interpreter}:\n{text}", rule.id, block.purpose);
                }
            }
        }
    }
}
