//! Reads refsan's JSON report as its users' tools would: by the published field names only.

use regex::Regex;
use serde_json::Value;
use std::collections::BTreeSet;

/// A parsed report.
#[derive(Debug, Clone)]
pub struct Report(Value);

/// One finding of a report.
#[derive(Debug, Clone, Copy)]
pub struct Finding<'report>(&'report Value);

impl Report {
    /// Parses a report.
    ///
    /// # Errors
    /// The text is no JSON, or holds no `findings` list.
    pub fn parse(text: &str) -> Result<Self, String> {
        let value: Value =
            serde_json::from_str(text).map_err(|error| format!("no JSON: {error}"))?;
        match value.get("findings").and_then(Value::as_array) {
            Some(_) => Ok(Self(value)),
            None => Err("expected a list `findings` in the report, found none".to_string()),
        }
    }

    /// The whole document.
    pub fn value(&self) -> &Value {
        &self.0
    }

    /// The findings, in the report's order.
    pub fn findings(&self) -> impl Iterator<Item = Finding<'_>> {
        self.0["findings"]
            .as_array()
            .into_iter()
            .flatten()
            .map(Finding)
    }

    /// The findings of one rule.
    pub fn of_rule<'report>(&'report self, rule: &str) -> impl Iterator<Item = Finding<'report>> {
        self.findings()
            .filter(move |finding| finding.rule() == rule)
    }

    /// The codes of the rules that were broken.
    pub fn rules(&self) -> BTreeSet<&str> {
        self.findings().map(Finding::rule).collect()
    }
}

impl<'report> Finding<'report> {
    /// The code of its rule, for instance `RS101`.
    pub fn rule(self) -> &'report str {
        self.text_at("/rule")
    }

    /// `error`, `warning` or `note`.
    pub fn severity(self) -> &'report str {
        self.text_at("/severity")
    }

    /// The function at fault; empty when it has no name.
    pub fn function(self) -> &'report str {
        self.text_at("/function")
    }

    /// The type of the released object; empty when it is unknown.
    pub fn object_type(self) -> &'report str {
        self.text_at("/object/type")
    }

    /// The finding as JSON.
    pub fn json(self) -> String {
        self.0.to_string()
    }

    /// Whether any of its texts matches.
    pub fn mentions(self, pattern: &Regex) -> bool {
        any_text(self.0, &|text| pattern.is_match(text))
    }

    /// Whether any of its texts is or ends with the path `file`.
    pub fn names_file(self, file: &str) -> bool {
        // A location may carry a line behind the file name.
        let is_file = |text: &str| {
            let path = text.split(':').next().unwrap_or_default();
            path == file || path.ends_with(&format!("/{file}"))
        };
        any_text(self.0, &is_file)
    }

    fn text_at(self, pointer: &str) -> &'report str {
        self.0
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
    }
}

fn any_text(value: &Value, matches: &impl Fn(&str) -> bool) -> bool {
    match value {
        Value::String(text) => matches(text),
        Value::Array(values) => values.iter().any(|value| any_text(value, matches)),
        Value::Object(values) => values.values().any(|value| any_text(value, matches)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = r#"{"findings": [
        {"rule": "RS101", "severity": "error", "function": "consume", "object": {"type": "list"},
         "stacks": [{"frames": [{"source": "x/extension.c:12", "module": "extension.so"}]}]},
        {"rule": "RS202", "severity": "warning", "object": null}]}"#;

    #[test]
    fn findings_are_read_by_their_published_names() {
        let report = Report::parse(REPORT).unwrap();
        assert_eq!(
            report.rules().into_iter().collect::<Vec<_>>(),
            ["RS101", "RS202"]
        );
        let finding = report.of_rule("RS101").next().unwrap();
        assert_eq!(
            (finding.function(), finding.object_type()),
            ("consume", "list")
        );
        assert!(finding.names_file("extension.c"));
        assert!(!finding.names_file("tension.c"));
        assert!(finding.mentions(&Regex::new("extension.so").unwrap()));
        assert!(!finding.mentions(&Regex::new("numpy").unwrap()));
        assert_eq!(report.of_rule("RS202").next().unwrap().object_type(), "");
    }

    #[test]
    fn what_is_no_report_is_refused() {
        assert!(Report::parse("").unwrap_err().contains("no JSON"));
        assert!(Report::parse("{}").unwrap_err().contains("findings"));
    }
}
