//! Findings with the same fingerprint, taken together: several processes may show the same fault.

use std::collections::{BTreeSet, HashMap};

use refsan_model::Finding;

/// One fault, and how often and where it was seen.
pub(crate) struct Distinct<'a> {
    /// The first finding.
    pub(crate) finding: &'a Finding,
    /// The sum of the counts.
    pub(crate) count: u64,
    /// The processes that showed it.
    pub(crate) processes: BTreeSet<u32>,
}

/// The distinct findings in the order of the report; all of them if not `dedup`.
pub(crate) fn distinct(findings: &[Finding], dedup: bool) -> Vec<Distinct<'_>> {
    let mut result: Vec<Distinct<'_>> = Vec::new();
    let mut seen = HashMap::new();
    for finding in findings {
        let next = result.len();
        let index = match dedup {
            true => *seen
                .entry((finding.rule, &finding.fingerprint))
                .or_insert(next),
            false => next,
        };
        if index == next {
            result.push(Distinct {
                finding,
                count: 0,
                processes: BTreeSet::new(),
            });
        }
        let entry = &mut result[index];
        entry.count = entry.count.saturating_add(finding.count);
        entry.processes.insert(finding.process.pid);
    }
    result
}
