//! Everything a person needs: the findings, a summary, and what they rest on.

mod coverage;
mod finding;
mod stacks;

use std::collections::BTreeMap;
use std::io::{self, Write};

use refsan_model::{Report, RuleId};
use refsan_rules::{Status, rule};

use crate::Options;
use crate::distinct::{Distinct, distinct};
use crate::number::{grouped, plural};
use crate::paint::{Ink, Paint};
use crate::summary::summary;

/// Where the text goes, and how it shall look.
struct Page<'a> {
    out: &'a mut dyn Write,
    paint: Paint,
    options: &'a Options,
    /// Frames left out so far.
    omitted: usize,
}

pub(crate) fn render(report: &Report, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    let paint = Paint {
        color: options.color,
    };
    let mut page = Page {
        out,
        paint,
        options,
        omitted: 0,
    };
    let findings = distinct(&report.findings, options.dedup);
    let several = report.coverage.processes.len() > 1;

    let mut left = options.max_findings.unwrap_or(usize::MAX);
    for status in [Status::Stable, Status::Preview] {
        let of_status: Vec<_> = findings
            .iter()
            .filter(|entry| rule(entry.finding.rule).status == status)
            .collect();
        if of_status.is_empty() {
            continue;
        }
        let heading = match status {
            Status::Stable => "Bugs in the program",
            Status::Preview => "Preview rules: these may be wrong",
        };
        writeln!(page.out, "{}\n", paint.of(Ink::Label, heading))?;
        let shown = left.min(of_status.len());
        for entry in &of_status[..shown] {
            page.finding(entry, several)?;
            writeln!(page.out)?;
        }
        left -= shown;
    }
    let hidden = findings
        .len()
        .saturating_sub(options.max_findings.unwrap_or(usize::MAX));
    if hidden > 0 {
        let more = plural(hidden as u64, "more finding");
        writeln!(page.out, "… and {more} (--max-findings shows more)\n")?;
    }
    if page.omitted > 0 {
        let frames = plural(page.omitted as u64, "frame");
        let note = format!("{frames} left out above; --stacks full shows them");
        writeln!(page.out, "{}\n", paint.of(Ink::Faint, &note))?;
    }
    writeln!(
        page.out,
        "{} {}",
        paint.of(Ink::Strong, "SUMMARY:"),
        summary(report, &findings)
    )?;
    page.table(&findings)?;
    page.coverage(report)
}

impl Page<'_> {
    /// How many findings each rule has.
    fn table(&mut self, findings: &[Distinct<'_>]) -> io::Result<()> {
        let mut rules: BTreeMap<RuleId, (u64, u64)> = BTreeMap::new();
        for entry in findings {
            let row = rules.entry(entry.finding.rule).or_default();
            row.0 += 1;
            row.1 = row.1.saturating_add(entry.count);
        }
        if rules.is_empty() {
            return Ok(());
        }
        let width = rules
            .keys()
            .map(|rule| rule.name().len())
            .max()
            .unwrap_or(0);
        let head = format!(
            "  {:5}  {:width$}  {:>8}  {:>9}",
            "rule", "name", "findings", "times"
        );
        writeln!(self.out, "\n{}", self.paint.of(Ink::Faint, &head))?;
        for (rule, (count, times)) in rules {
            let (count, times) = (grouped(count), grouped(times));
            writeln!(
                self.out,
                "  {}  {:width$}  {count:>8}  {times:>9}",
                rule.code(),
                rule.name()
            )?;
        }
        Ok(())
    }

    /// A labelled fact; a long sentence goes on under its own beginning.
    fn fact(&mut self, label: &str, text: &str) -> io::Result<()> {
        const INDENT: usize = 10;
        let label = self.paint.of(Ink::Label, &format!("{label:7}"));
        let limit = self.options.width.saturating_sub(INDENT).max(30);
        for (number, line) in wrapped(text, limit).iter().enumerate() {
            if number == 0 {
                writeln!(self.out, "  {label} {line}")?;
            } else {
                writeln!(self.out, "{:INDENT$}{line}", "")?;
            }
        }
        Ok(())
    }
}

/// `text` in lines of at most `limit` characters, broken at spaces; a longer word stays whole.
fn wrapped(text: &str, limit: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut length = 0;
    for word in text.split(' ') {
        let size = word.chars().count();
        if length > 0 && length + 1 + size > limit {
            lines.push(String::new());
            length = 0;
        }
        if let Some(line) = lines.last_mut() {
            if length > 0 {
                line.push(' ');
                length += 1;
            }
            line.push_str(word);
            length += size;
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_break_at_spaces() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(
            wrapped("averyverylongword x", 5),
            ["averyverylongword", "x"]
        );
        assert_eq!(wrapped("", 5), [""]);
    }
}
