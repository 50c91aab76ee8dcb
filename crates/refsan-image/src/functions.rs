//! Where functions begin and end, from whatever the linker left in the file.

/// The addresses of one function: `start..end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FunctionRange {
    /// First address.
    pub start: u64,
    /// The address after the last one.
    pub end: u64,
}

impl FunctionRange {
    /// Whether the function holds the address.
    #[must_use]
    pub fn contains(&self, address: u64) -> bool {
        self.start <= address && address < self.end
    }
}

/// Collects function ranges of unequal trust.
#[derive(Debug, Default)]
pub(crate) struct FunctionCollector {
    /// Start and end, from unwind tables.
    pub(crate) exact: Vec<FunctionRange>,
    /// Start, and end if it is known: from symbols and start lists. They fill what is left.
    pub(crate) starts: Vec<(u64, Option<u64>)>,
}

impl FunctionCollector {
    /// Sorted and disjoint ranges. A start without an end reaches to the next start, or to
    /// what `region_end` gives; `region_end` is `None` where nothing may run.
    pub(crate) fn finish(mut self, region_end: impl Fn(u64) -> Option<u64>) -> Vec<FunctionRange> {
        self.exact.sort_unstable();
        let mut exact: Vec<FunctionRange> = Vec::with_capacity(self.exact.len());
        for range in self.exact {
            let Some(limit) = region_end(range.start) else {
                continue;
            };
            let range = FunctionRange {
                start: range.start,
                end: range.end.min(limit),
            };
            if range.end <= range.start {
                continue;
            }
            match exact.last_mut() {
                // Two entries for one start: the longer one wins.
                Some(last) if last.start == range.start => last.end = last.end.max(range.end),
                Some(last) if last.end > range.start => {
                    last.end = range.start;
                    exact.push(range);
                }
                _ => exact.push(range),
            }
        }
        self.starts.sort_unstable();
        let mut gaps: Vec<FunctionRange> = Vec::new();
        let mut next_exact = 0;
        for index in 0..self.starts.len() {
            let (start, end) = self.starts[index];
            if gaps.last().is_some_and(|last| last.start == start) {
                // Sorting puts an entry without an end first.
                if let (Some(last), Some(end)) = (gaps.last_mut(), end) {
                    last.end = last.end.min(end.max(start + 1));
                }
                continue;
            }
            while exact
                .get(next_exact)
                .is_some_and(|range| range.start <= start)
            {
                next_exact += 1;
            }
            let inside = next_exact > 0 && exact[next_exact - 1].contains(start);
            let Some(limit) = region_end(start).filter(|_| !inside) else {
                continue;
            };
            let limit = exact
                .get(next_exact)
                .map_or(limit, |range| range.start.min(limit));
            let end = end.filter(|end| *end > start).unwrap_or(limit).min(limit);
            if let Some(last) = gaps.last_mut().filter(|last| last.end > start) {
                last.end = start;
            }
            gaps.push(FunctionRange { start, end });
        }
        if gaps.is_empty() {
            return exact;
        }
        exact.append(&mut gaps);
        exact.sort_unstable();
        exact
    }
}

#[cfg(test)]
mod tests {
    use super::{FunctionCollector, FunctionRange};

    fn ranges(exact: &[(u64, u64)], starts: &[(u64, Option<u64>)]) -> Vec<(u64, u64)> {
        FunctionCollector {
            exact: exact
                .iter()
                .map(|&(start, end)| FunctionRange { start, end })
                .collect(),
            starts: starts.to_vec(),
        }
        .finish(|address| (address < 0x1000).then_some(0x1000))
        .into_iter()
        .map(|range| (range.start, range.end))
        .collect()
    }

    #[test]
    fn exact_ranges_win_over_symbols() {
        assert_eq!(
            ranges(
                &[(0x10, 0x20)],
                &[(0x18, None), (0x20, None), (0x30, Some(0x34))]
            ),
            [(0x10, 0x20), (0x20, 0x30), (0x30, 0x34)]
        );
    }

    #[test]
    fn overlaps_are_cut_at_the_next_start() {
        assert_eq!(
            ranges(&[(0x10, 0x40), (0x20, 0x30)], &[]),
            [(0x10, 0x20), (0x20, 0x30)]
        );
    }

    #[test]
    fn a_start_never_reaches_over_the_region_or_an_exact_range() {
        assert_eq!(
            ranges(
                &[(0x20, 0x30)],
                &[(0x10, Some(0x90)), (0xff0, None), (0x2000, None)]
            ),
            [(0x10, 0x20), (0x20, 0x30), (0xff0, 0x1000)]
        );
    }
}
