//! The published schema: it takes every report that can be written, and nothing less or more.

use std::collections::BTreeSet;

use jsonschema::Validator;
use refsan_model::{
    Confidence, Phase, ReleaseVisibility, Report, RuleId, Severity, StackKind, StackRole,
    SymbolQuality, ThreadState,
};
use refsan_report::{Format, Options};
use serde_json::{Map, Value};

use crate::rendered;
use crate::sample::{self, report};

const SCHEMA: &str = include_str!("../../../../schemas/finding-v1.json");

fn schema() -> Value {
    serde_json::from_str(SCHEMA).expect("the schema is JSON")
}

fn validator() -> Validator {
    jsonschema::draft202012::new(&schema()).expect("the schema is a schema")
}

fn json(report: &Report) -> Value {
    let text = rendered(report, Format::Json, &Options::default());
    serde_json::from_str(&text).expect("valid JSON")
}

/// A report in which every field of the model is set at least once.
fn everything() -> Report {
    report(
        sample::each_rule(),
        vec![sample::troubled(4700), sample::unwatched(9)],
    )
}

#[test]
fn the_schema_is_a_schema() {
    jsonschema::draft202012::meta::validate(&schema()).expect("the schema follows its own rules");
}

#[test]
fn every_report_is_valid() {
    let validator = validator();
    for report in [everything(), sample::hostile(), report(vec![], vec![])] {
        let document = json(&report);
        let errors: Vec<String> = validator
            .iter_errors(&document)
            .map(|error| error.to_string())
            .collect();
        assert!(errors.is_empty(), "{errors:#?}");
    }
}

#[test]
fn every_value_of_every_enumeration_is_valid() {
    let validator = validator();
    let check = |change: &dyn Fn(&mut Report)| {
        let mut report = everything();
        change(&mut report);
        let document = json(&report);
        assert!(
            validator.is_valid(&document),
            "{:?}",
            validator.validate(&document).err()
        );
    };
    for rule in RuleId::ALL {
        check(&|report| {
            report.findings[0].rule = rule;
            report.findings[0].name = rule.name().into();
        });
    }
    for severity in [Severity::Note, Severity::Warning, Severity::Error] {
        check(&|report| report.findings[0].severity = severity);
    }
    check(&|report| report.findings[0].confidence = Confidence::Observed);
    for state in [ThreadState::None, ThreadState::Detached, ThreadState::Gone] {
        check(&|report| report.findings[0].thread.state = state);
    }
    for phase in [Phase::Running, Phase::Finalizing, Phase::Finalized] {
        check(&|report| report.findings[0].phase.phase = phase);
    }
    for role in [
        StackRole::Detached,
        StackRole::Released,
        StackRole::Called,
        StackRole::Attached,
        StackRole::Python,
        StackRole::OtherThread,
    ] {
        check(&|report| report.findings[0].stacks[0].role = role);
    }
    for kind in [StackKind::Native, StackKind::Python] {
        check(&|report| report.findings[0].stacks[0].kind = kind);
    }
    for releases in [
        ReleaseVisibility::All,
        ReleaseVisibility::LastOnly,
        ReleaseVisibility::LastAndShared,
        ReleaseVisibility::None,
    ] {
        check(&|report| report.coverage.processes[0].modules[0].releases = releases);
    }
    for symbols in [
        SymbolQuality::Dwarf,
        SymbolQuality::Names,
        SymbolQuality::None,
        SymbolQuality::Unknown,
    ] {
        check(&|report| report.coverage.processes[0].modules[0].symbols = symbols);
    }
}

/// The schemas of all objects: the root, and those in `$defs`.
fn object_schemas(schema: &Value) -> Vec<&Map<String, Value>> {
    let definitions = schema["$defs"].as_object().expect("definitions").values();
    std::iter::once(schema)
        .chain(definitions)
        .filter(|schema| schema["type"] == "object")
        .map(|schema| schema.as_object().expect("an object"))
        .collect()
}

#[test]
fn nothing_undescribed_is_taken() {
    for object in object_schemas(&schema()) {
        assert_eq!(object["additionalProperties"], false, "{object:?}");
    }
    let mut document = json(&everything());
    document["findings"][0]["surprise"] = true.into();
    assert!(!validator().is_valid(&document));
}

#[test]
fn every_described_field_is_written_by_some_report() {
    let schema = schema();
    let text = json(&everything()).to_string();
    for object in object_schemas(&schema) {
        for name in object["properties"].as_object().expect("properties").keys() {
            assert!(
                text.contains(&format!("\"{name}\":")),
                "no report has `{name}`"
            );
        }
    }
}

/// Calls `visit` with the path of every member of every object in `value`.
fn members(value: &Value, path: &str, visit: &mut dyn FnMut(&str, &str)) {
    match value {
        Value::Object(object) => {
            for (name, member) in object {
                visit(path, name);
                members(member, &format!("{path}/{name}"), visit);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                members(item, &format!("{path}/{index}"), visit);
            }
        }
        _ => {}
    }
}

#[test]
fn a_missing_required_field_is_refused() {
    let validator = validator();
    let document = json(&everything());
    let schema = schema();
    // By name: some objects require a field that others may leave out.
    let (mut required, mut optional) = (BTreeSet::new(), BTreeSet::new());
    for object in object_schemas(&schema) {
        let needs = object
            .get("required")
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default();
        for name in object["properties"].as_object().expect("properties").keys() {
            let kind = if needs.contains(&name.as_str().into()) {
                &mut required
            } else {
                &mut optional
            };
            kind.insert(name.clone());
        }
    }

    let mut refused = BTreeSet::new();
    members(&document, "", &mut |path, name| {
        let mut cut = document.clone();
        let parent = cut
            .pointer_mut(path)
            .and_then(Value::as_object_mut)
            .expect("the parent");
        parent.remove(name);
        match validator.is_valid(&cut) {
            false => {
                refused.insert(name.to_owned());
            }
            true => assert!(
                optional.contains(name) || !required.contains(name),
                "{path} is valid without `{name}`"
            ),
        }
    });
    for name in required {
        assert!(
            refused.contains(&name),
            "no document is refused for want of `{name}`"
        );
    }
}

#[test]
fn a_line_of_jsonl_is_a_finding_with_its_kind() {
    let mut schema = schema();
    schema["$ref"] = "#/$defs/finding".into();
    for name in ["properties", "required", "additionalProperties"] {
        schema.as_object_mut().expect("an object").remove(name);
    }
    let validator = jsonschema::draft202012::new(&schema).expect("a schema");
    let text = rendered(&everything(), Format::Jsonl, &Options::default());
    let mut findings = 0;
    for line in text.lines() {
        let mut line: Value = serde_json::from_str(line).expect("valid JSON");
        if line.as_object_mut().and_then(|line| line.remove("kind")) == Some("finding".into()) {
            findings += 1;
            assert!(validator.is_valid(&line), "{line}");
        }
    }
    assert_eq!(findings, everything().findings.len());
}
