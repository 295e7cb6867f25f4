//! Lines of code, of comments, and blank.

use serde::{Deserialize, Serialize};

/// How many lines there are of each kind. A line with code and a comment is a line of code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lines {
    pub total: u32,
    pub code: u32,
    pub comment: u32,
    pub blank: u32,
}

const COMMENT: u8 = 1;
const CODE: u8 = 2;

/// The kind of every line of a file, known once all of its tokens were seen.
pub(super) struct LineKinds(Vec<u8>);

impl LineKinds {
    pub(super) fn new(source: &[u8]) -> Self {
        let breaks = memchr::memchr_iter(b'\n', source).count();
        // What follows the last line break is a line only if there is something.
        let unfinished = source.last().is_some_and(|byte| *byte != b'\n');
        Self(vec![0; breaks + usize::from(unfinished)])
    }

    pub(super) fn mark_code(&mut self, first: usize, last: usize) {
        self.mark(first, last, CODE);
    }

    pub(super) fn mark_comment(&mut self, first: usize, last: usize) {
        self.mark(first, last, COMMENT);
    }

    fn mark(&mut self, first: usize, last: usize, kind: u8) {
        let last = last.min(self.0.len().saturating_sub(1));
        if let Some(lines) = self.0.get_mut(first..=last) {
            for line in lines {
                *line |= kind;
            }
        }
    }

    /// Counts the lines from row `first` to row `last`, both included.
    pub(super) fn count(&self, first: usize, last: usize) -> Lines {
        let last = last.min(self.0.len().saturating_sub(1));
        let kinds = self.0.get(first..=last).unwrap_or_default();
        let count = |matches: fn(u8) -> bool| {
            u32::try_from(kinds.iter().filter(|kind| matches(**kind)).count()).unwrap_or(u32::MAX)
        };
        Lines {
            total: u32::try_from(kinds.len()).unwrap_or(u32::MAX),
            code: count(|kind| kind & CODE != 0),
            comment: count(|kind| kind == COMMENT),
            blank: count(|kind| kind == 0),
        }
    }

    pub(super) fn count_all(&self) -> Lines {
        if self.0.is_empty() { Lines::default() } else { self.count(0, self.0.len() - 1) }
    }
}
