//! Findings that are the same fault are shown once.

use std::collections::BTreeMap;

use refsan_model::Finding;

/// Joins findings with the same fingerprint, and puts the worst first; of equals, the one that was
/// seen first.
pub fn merge(findings: Vec<Finding>) -> Vec<Finding> {
    let mut merged: Vec<Finding> = Vec::new();
    let mut places = BTreeMap::new();
    for finding in findings {
        let key = (finding.fingerprint.clone(), finding.severity);
        match places
            .get(&key)
            .and_then(|place: &usize| merged.get_mut(*place))
        {
            Some(first) => join(first, finding),
            None => {
                places.insert(key, merged.len());
                merged.push(finding);
            }
        }
    }
    merged.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    merged
}

fn join(first: &mut Finding, other: Finding) {
    first.count += other.count;
    if let (Some(object), Some(other)) = (&mut first.object, other.object) {
        let names = other.type_name.into_iter().chain(other.other_types);
        for name in names {
            if object.type_name.as_ref() != Some(&name) && !object.other_types.contains(&name) {
                object.other_types.push(name);
            }
        }
    }
    if first.stacks.is_empty() {
        first.stacks = other.stacks;
    }
}
