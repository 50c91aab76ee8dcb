//! A linked list that other threads change while it is walked, or that is no list any more.

use crate::memory::aligned;

/// What the walker does with the next address of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Look at this element.
    Visit(u64),
    /// The list ends here.
    End,
    /// No element can be there, the list runs in a circle, or it is longer than any real one.
    Broken,
}

/// Guards a walk: at most `remaining` elements, and circles are noticed (Brent's method) so that a
/// small one does not fill the report.
pub(crate) struct Chain {
    remaining: u32,
    marked: u64,
    steps: u32,
    lap: u32,
}

impl Chain {
    pub(crate) fn new(limit: u32) -> Self {
        Self {
            remaining: limit,
            marked: 0,
            steps: 0,
            lap: 1,
        }
    }

    pub(crate) fn step(&mut self, address: u64) -> Step {
        if address == 0 {
            return Step::End;
        }
        if aligned(address).is_none() || address == self.marked {
            return Step::Broken;
        }
        let Some(remaining) = self.remaining.checked_sub(1) else {
            return Step::Broken;
        };
        self.remaining = remaining;
        self.steps = self.steps.wrapping_add(1);
        if self.steps >= self.lap {
            self.marked = address;
            self.steps = 0;
            self.lap = self.lap.saturating_mul(2);
        }
        Step::Visit(address)
    }
}

#[cfg(test)]
mod tests {
    use super::{Chain, Step};

    #[test]
    fn circles_of_every_length_end() {
        for length in 1..200_u64 {
            let mut chain = Chain::new(u32::MAX);
            let visited = (0..)
                .take_while(|step| chain.step(0x10000 + step % length * 8) != Step::Broken)
                .count();
            assert!(
                visited as u64 >= length && visited as u64 <= 4 * length,
                "{length}: {visited}"
            );
        }
    }

    #[test]
    fn ends_and_limits() {
        let mut chain = Chain::new(2);
        assert_eq!(chain.step(0x2000), Step::Visit(0x2000));
        assert_eq!(chain.step(0), Step::End);
        assert_eq!(chain.step(0x3001), Step::Broken);
        assert_eq!(chain.step(8), Step::Broken);
        assert_eq!(chain.step(0x4000), Step::Visit(0x4000));
        assert_eq!(chain.step(0x5000), Step::Broken);
    }
}
