//! What `refsan rule` prints.

use std::fmt::Write;

use refsan_model::{RuleId, Severity};

use crate::rule::Rule;
use crate::rules::{RULES, rule};

/// The whole page of a rule: title, metadata and text, as Markdown.
pub fn explain(id: RuleId) -> String {
    let rule = rule(id);
    format!(
        "# {name} ({code})\n\n{summary}\n\n{severity} · group {prefix} {group} · {status} since {since}\n\n{page}",
        name = id.name(),
        code = id.code(),
        summary = sentence(rule.summary),
        severity = severity(rule),
        prefix = rule.group.prefix(),
        group = rule.group.name(),
        status = rule.status.name(),
        since = rule.since,
        page = rule.page,
    )
}

/// A table of all rules, as Markdown whose columns also line up on a terminal.
pub fn index() -> String {
    let mut rows = vec![["code", "name", "severity", "status", "what is wrong"]];
    rows.extend(RULES.iter().map(|rule| {
        [
            rule.id.code(),
            rule.id.name(),
            severity(rule),
            rule.status.name(),
            rule.summary,
        ]
    }));
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..rows[0].len()).map(width).collect();

    let mut table = String::new();
    for (number, row) in rows.iter().enumerate() {
        for (cell, width) in row.iter().zip(&widths) {
            let _ = write!(table, "| {cell:width$} ");
        }
        table.push_str("|\n");
        if number == 0 {
            for width in &widths {
                let _ = write!(table, "| {} ", "-".repeat(*width));
            }
            table.push_str("|\n");
        }
    }
    table
}

/// A summary has no capital and no full stop, to fit into a table; a sentence has both.
fn sentence(summary: &str) -> String {
    let mut rest = summary.chars();
    let first = rest.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(rest).chain(['.']).collect()
}

fn severity(rule: &Rule) -> &'static str {
    match rule.severity {
        Severity::Note => "note",
        Severity::Warning => "warning",
        Severity::Error => "error",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_lines_up_and_names_every_rule() {
        let index = index();
        let lengths: Vec<usize> = index.lines().map(str::len).collect();
        assert_eq!(lengths.len(), RULES.len() + 2);
        assert!(
            lengths.iter().all(|length| *length == lengths[0]),
            "{index}"
        );
        for rule in RULES {
            assert!(index.contains(&format!("| {} | {} ", rule.id.code(), rule.id.name())));
        }
    }
}
