//! Finding a run of lines in a file, however much they repeat.

use std::ops::{ControlFlow, Range};

use mainstay_core::{CancellationToken, Error, Result};

use super::plan::alive;

/// Comparisons of lines that one call may take: more than any honest patch, and over within seconds.
const COMPARISONS: u64 = 100_000_000;

/// How often the caller is asked for, in comparisons.
const BREATH: u64 = 4096;

/// What a call may still spend on comparing lines.
pub(super) struct Effort {
    left: u64,
    cancel: CancellationToken,
}

impl Effort {
    pub(super) fn new(cancel: &CancellationToken) -> Self {
        Self::of(COMPARISONS, cancel)
    }

    pub(super) fn of(comparisons: u64, cancel: &CancellationToken) -> Self {
        Self { left: comparisons, cancel: cancel.clone() }
    }

    pub(super) fn spend(&mut self, comparisons: usize) -> Result<()> {
        let before = self.left;
        self.left = before.checked_sub(comparisons as u64).ok_or_else(too_much)?;
        if before / BREATH == self.left / BREATH { Ok(()) } else { alive(&self.cancel) }
    }
}

fn too_much() -> Error {
    let reason = "To find where the hunks of this patch fit takes too many comparisons of lines; apply it in parts, or \
                  with line numbers that are right. Nothing was changed.";
    Error::field("patch", reason)
}

/// A run of lines, each by its number. It is found in a time that depends on how long the file is, and not on how often
/// the lines repeat (the Z algorithm).
pub(super) struct Pattern {
    lines: Vec<u32>,
    /// How much of its beginning is there again at each of its places.
    own: Vec<usize>,
}

impl Pattern {
    pub(super) fn new(lines: Vec<u32>, effort: &mut Effort) -> Result<Self> {
        effort.spend(lines.len() * 2)?;
        let mut pattern = Self { own: vec![lines.len()], lines };
        let mut known = 0..0;
        for at in 1..pattern.lines.len() {
            let alike = pattern.alike(&pattern.lines, at, &mut known);
            pattern.own.push(alike);
        }
        Ok(pattern)
    }

    pub(super) fn len(&self) -> usize {
        self.lines.len()
    }

    pub(super) fn is_at(&self, text: &[u32], at: usize) -> bool {
        text.get(at..).is_some_and(|text| text.starts_with(&self.lines))
    }

    /// Tells for each place how many lines of the pattern are there, until told to stop.
    pub(super) fn each(
        &self,
        text: &[u32],
        effort: &mut Effort,
        mut visit: impl FnMut(usize, usize) -> ControlFlow<()>,
    ) -> Result<()> {
        let mut known = 0..0;
        for at in 0..text.len() {
            let so_far = known.end.max(at);
            let alike = self.alike(text, at, &mut known);
            effort.spend(1 + known.end.saturating_sub(so_far))?;
            if visit(at, alike).is_break() {
                break;
            }
        }
        Ok(())
    }

    /// How much of the pattern is at one place. `known` is the stretch reaching furthest that is known to be a beginning
    /// of the pattern: what lies in it has been compared.
    fn alike(&self, text: &[u32], at: usize, known: &mut Range<usize>) -> usize {
        let mut alike = if at < known.end { self.own[at - known.start].min(known.end - at) } else { 0 };
        while alike < self.len() && text.get(at + alike) == Some(&self.lines[alike]) {
            alike += 1;
        }
        if at + alike > known.end {
            *known = at..at + alike;
        }
        alike
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::trial::Chance;

    fn effort() -> Effort {
        Effort::new(&CancellationToken::new())
    }

    fn alike(lines: &[u32], text: &[u32]) -> Vec<usize> {
        let mut found = Vec::new();
        let pattern = Pattern::new(lines.to_vec(), &mut effort()).unwrap();
        let visit = |_, alike| {
            found.push(alike);
            ControlFlow::Continue(())
        };
        pattern.each(text, &mut effort(), visit).unwrap();
        found
    }

    #[test]
    fn what_is_found_is_what_comparing_line_by_line_finds() {
        for seed in 0..500 {
            let mut chance = Chance::new(seed);
            let mut lines = |most: usize| -> Vec<u32> {
                (0..chance.below(most)).map(|_| u32::try_from(chance.below(3)).unwrap()).collect()
            };
            let (pattern, text) = (lines(12), lines(60));
            let slowly: Vec<usize> =
                (0..text.len()).map(|at| text[at..].iter().zip(&pattern).take_while(|(a, b)| a == b).count()).collect();
            assert_eq!(alike(&pattern, &text), slowly, "{pattern:?} in {text:?}");
        }
    }

    #[test]
    fn lines_that_repeat_cost_no_more_than_others() {
        let mut lines = vec![1; 1_999];
        lines.push(2);
        let mut effort = Effort::of(500_000, &CancellationToken::new());
        let pattern = Pattern::new(lines, &mut effort).unwrap();
        pattern.each(&vec![1; 200_000], &mut effort, |_, _| ControlFlow::Continue(())).unwrap();
    }

    #[test]
    fn a_caller_who_has_gone_is_noticed() {
        let cancel = CancellationToken::new();
        cancel.cancel();
        let pattern = Pattern::new(vec![1], &mut effort()).unwrap();
        let text = vec![2; 10_000];
        let error = pattern.each(&text, &mut Effort::new(&cancel), |_, _| ControlFlow::Continue(())).unwrap_err();
        assert_eq!(error.kind, mainstay_core::Kind::Cancelled);
    }
}
