//! Finds a run of lines in a file, in time linear in the file however often its lines repeat.
//!
//! A naive search takes lines × pattern comparisons: a patch of 2000 equal lines against a file of 200 000 of them would
//! keep a core busy for minutes. The Z algorithm finds every place in one pass, and a budget bounds the rest.

use std::cell::Cell;
use std::ops::Range;

use mainstay_core::{CancellationToken, Error, Result};

/// The most comparisons of lines that one call may make: more than any real patch needs, and over within seconds.
pub(crate) const MAX_COMPARISONS: u64 = 100_000_000;

/// After how many comparisons the search checks whether the call was cancelled.
const CANCEL_CHECK_INTERVAL: u64 = 4096;

/// How many comparisons of lines a call may still make.
pub(crate) struct ComparisonBudget {
    left: Cell<u64>,
    cancel: CancellationToken,
}

impl ComparisonBudget {
    pub(crate) fn new(comparisons: u64, cancel: &CancellationToken) -> Self {
        Self { left: Cell::new(comparisons), cancel: cancel.clone() }
    }

    pub(crate) fn spend(&self, comparisons: usize) -> Result<()> {
        let before = self.left.get();
        let Some(left) = before.checked_sub(comparisons as u64) else {
            let reason = "Finding where the hunks of this patch apply takes too many comparisons; apply it in parts or \
                          with correct line numbers. Nothing was changed.";
            return Err(Error::field("patch", reason));
        };
        self.left.set(left);
        // Checking the token for every comparison would cost more than the comparisons.
        if before / CANCEL_CHECK_INTERVAL == left / CANCEL_CHECK_INTERVAL {
            Ok(())
        } else {
            crate::progress::check_cancelled(&self.cancel)
        }
    }
}

/// The lines to find. Equal lines are the same number, so that comparing two of them is cheap.
pub(crate) struct LinePattern {
    lines: Vec<u32>,
    /// The Z array: for each position, how many lines from there on equal the beginning of the pattern.
    prefix_lengths: Vec<usize>,
}

impl LinePattern {
    pub(crate) fn new(lines: Vec<u32>, budget: &ComparisonBudget) -> Result<Self> {
        budget.spend(lines.len() * 2)?;
        let mut pattern = Self { prefix_lengths: vec![lines.len()], lines };
        let mut known = 0..0;
        for at in 1..pattern.lines.len() {
            let matching = pattern.prefix_length_at(&pattern.lines, at, &mut known);
            pattern.prefix_lengths.push(matching);
        }
        Ok(pattern)
    }

    pub(crate) fn len(&self) -> usize {
        self.lines.len()
    }

    pub(crate) fn is_at(&self, text: &[u32], at: usize) -> bool {
        text.get(at..).is_some_and(|text| text.starts_with(&self.lines))
    }

    /// Each position of the text, and how many lines of the pattern match there.
    pub(crate) fn matches(
        &self,
        text: &[u32],
        budget: &ComparisonBudget,
    ) -> impl Iterator<Item = Result<(usize, usize)>> {
        let mut known = 0..0;
        (0..text.len()).map(move |at| {
            let so_far = known.end.max(at);
            let matching = self.prefix_length_at(text, at, &mut known);
            budget.spend(1 + known.end.saturating_sub(so_far))?;
            Ok((at, matching))
        })
    }

    /// How many lines of the pattern match at one position. `known` is the match found so far that reaches furthest:
    /// positions inside it need not be compared again.
    fn prefix_length_at(&self, text: &[u32], at: usize, known: &mut Range<usize>) -> usize {
        let mut matching = if at < known.end { self.prefix_lengths[at - known.start].min(known.end - at) } else { 0 };
        while matching < self.len() && text.get(at + matching) == Some(&self.lines[matching]) {
            matching += 1;
        }
        if at + matching > known.end {
            *known = at..at + matching;
        }
        matching
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TestRandom;

    fn budget() -> ComparisonBudget {
        ComparisonBudget::new(MAX_COMPARISONS, &CancellationToken::new())
    }

    fn prefix_length_at(lines: &[u32], text: &[u32]) -> Vec<usize> {
        let budget = budget();
        let pattern = LinePattern::new(lines.to_vec(), &budget).unwrap();
        pattern.matches(text, &budget).map(|found| found.unwrap().1).collect()
    }

    #[test]
    fn the_search_finds_what_a_naive_comparison_finds() {
        for seed in 0..500 {
            let mut random = TestRandom::new(seed);
            let mut lines = |most: usize| -> Vec<u32> {
                (0..random.below(most)).map(|_| u32::try_from(random.below(3)).unwrap()).collect()
            };
            let (pattern, text) = (lines(12), lines(60));
            let slowly: Vec<usize> =
                (0..text.len()).map(|at| text[at..].iter().zip(&pattern).take_while(|(a, b)| a == b).count()).collect();
            assert_eq!(prefix_length_at(&pattern, &text), slowly, "{pattern:?} in {text:?}");
        }
    }

    #[test]
    fn lines_that_repeat_cost_no_more_than_others() {
        let mut lines = vec![1; 1_999];
        lines.push(2);
        let budget = ComparisonBudget::new(500_000, &CancellationToken::new());
        let pattern = LinePattern::new(lines, &budget).unwrap();
        assert!(pattern.matches(&vec![1; 200_000], &budget).all(|found| found.is_ok()));
    }

    #[test]
    fn a_cancelled_search_of_lines_stops() {
        let cancel = CancellationToken::new();
        cancel.cancel();
        let pattern = LinePattern::new(vec![1], &budget()).unwrap();
        let text = vec![2; 10_000];
        let error =
            pattern.matches(&text, &ComparisonBudget::new(MAX_COMPARISONS, &cancel)).find_map(Result::err).unwrap();
        assert_eq!(error.kind, mainstay_core::Kind::Cancelled);
    }
}
