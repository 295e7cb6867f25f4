//! The matches of a search, in path order.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::files::walk::Collector;
use crate::files::walk::page::PageLimits;

/// What a search returns of each file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(crate) enum Show {
    #[default]
    Lines,
    Files,
    Counts,
}

/// A matching line, or several lines if the match spans them.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct LineMatch {
    /// Number of the first line.
    pub(crate) line: u64,
    /// The line without its newline.
    pub(crate) text: String,
    /// The line is longer; only the part around the match is shown.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) cut: bool,
    /// Some bytes are not UTF-8 and are shown as U+FFFD.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) lossy: bool,
    /// Lines before it. A line between two matches is listed once, after the first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) before: Vec<String>,
    /// Lines after it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) after: Vec<String>,
}

impl LineMatch {
    /// The size in a reply, with an estimate for the JSON around the text.
    pub(crate) fn bytes(&self) -> usize {
        24 + self.text.len() + self.before.iter().chain(&self.after).map(String::len).sum::<usize>()
    }
}

/// A file with at least one match.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FileMatches {
    // Relative to the start of the search, as bytes: what a cursor needs. The path below may be lossy.
    #[serde(skip)]
    pub(crate) path_bytes: Vec<u8>,
    /// Path, as other tools take it.
    pub(crate) path: String,
    /// Number of matching lines, if `show` is `counts`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) count: Option<u64>,
    /// Matching lines, if `show` is `lines`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) matches: Vec<LineMatch>,
}

/// What a search has found, and how many files it has searched.
#[derive(Debug, Default)]
pub(crate) struct SearchResults {
    pub(crate) files: Vec<FileMatches>,
    items: usize,
    bytes: usize,
    pub(crate) searched: u64,
    pub(crate) binary: u64,
    /// Files that could not be opened or not be searched to their end.
    pub(crate) unsearched: u64,
}

impl SearchResults {
    pub(crate) fn add(&mut self, file: FileMatches) {
        // Where no lines are shown, a page counts files.
        self.items += file.matches.len().max(1);
        self.bytes += file.path.len() + file.matches.iter().map(LineMatch::bytes).sum::<usize>();
        self.files.push(file);
    }

    /// Cuts the results to one page. If there is more, returns the path and the line that the page ends with; line 0
    /// stands for the end of the file.
    pub(crate) fn truncate(&mut self, limits: PageLimits, show: Show) -> Option<(Vec<u8>, u64)> {
        if show != Show::Lines {
            let more = limits.truncate(&mut self.files, |file| file.path.len());
            return self.files.last().filter(|_| more).map(|last| (last.path_bytes.clone(), 0));
        }
        let (mut items, mut bytes) = (0, 0);
        let mut full = None;
        for (at, file) in self.files.iter_mut().enumerate() {
            bytes += file.path.len();
            // At least one match, however large: the cursor of an empty page would lead to the same page again.
            let least = usize::from(items == 0);
            let left = PageLimits {
                items: limits.items.saturating_sub(items),
                bytes: limits.bytes.saturating_sub(bytes).max(least),
            };
            if left.truncate(&mut file.matches, LineMatch::bytes) {
                full = Some(at);
                break;
            }
            items += file.matches.len();
            bytes += file.matches.iter().map(LineMatch::bytes).sum::<usize>();
        }
        self.files.truncate(full.map_or(self.files.len(), |at| at + 1));
        self.files.retain(|file| !file.matches.is_empty());
        full?;
        let last = self.files.last()?;
        Some((last.path_bytes.clone(), last.matches.last()?.line))
    }
}

impl Collector for SearchResults {
    fn items(&self) -> usize {
        self.items
    }

    fn bytes(&self) -> usize {
        self.bytes
    }

    fn append(&mut self, later: Self) {
        self.files.extend(later.files);
        self.items += later.items;
        self.bytes += later.bytes;
        self.searched += later.searched;
        self.binary += later.binary;
        self.unsearched += later.unsearched;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results() -> SearchResults {
        let mut results = SearchResults::default();
        for name in ["a", "b", "c"] {
            let line = |line| LineMatch {
                line,
                text: "hit".into(),
                cut: false,
                lossy: false,
                before: Vec::new(),
                after: Vec::new(),
            };
            let matches = vec![line(1), line(2)];
            results.add(FileMatches { path_bytes: name.into(), path: name.repeat(80), count: None, matches });
        }
        results
    }

    #[test]
    fn a_page_counts_the_paths_as_well_as_the_lines() {
        let end = |bytes| results().truncate(PageLimits { items: 100, bytes }, Show::Lines);
        assert_eq!(end(100), Some((b"a".to_vec(), 1)));
        assert_eq!(end(200), Some((b"a".to_vec(), 2)));
        assert_eq!(end(results().bytes()), None);
    }

    #[test]
    fn a_page_has_at_least_one_match() {
        assert_eq!(results().truncate(PageLimits { items: 1, bytes: 1 }, Show::Lines), Some((b"a".to_vec(), 1)));
    }
}
