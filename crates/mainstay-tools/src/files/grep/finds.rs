//! What a search has found, in the order of the tree.

use schemars::JsonSchema;
use serde::Serialize;

use super::Show;
use crate::files::page::Size;
use crate::files::walk::Catch;

/// One line that matches, or several if the match goes across them.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Hit {
    /// The number of the first line.
    pub(super) line: u64,
    /// The line without its newline.
    pub(super) text: String,
    /// The line is longer; what is shown lies around the match.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) cut: bool,
    /// Some bytes are not UTF-8 and are shown as U+FFFD.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) lossy: bool,
    /// The lines right before it. A line between two matches is told once, with the first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) before: Vec<String>,
    /// The lines right after it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) after: Vec<String>,
}

impl Hit {
    /// With something for the words around it.
    pub(super) fn bytes(&self) -> usize {
        24 + self.text.len() + self.before.iter().chain(&self.after).map(String::len).sum::<usize>()
    }
}

/// A file with at least one match.
#[derive(Debug)]
pub(super) struct File {
    /// From the start of the search, as bytes.
    pub(super) path: Vec<u8>,
    pub(super) shown: String,
    pub(super) matches: u64,
    pub(super) hits: Vec<Hit>,
}

#[derive(Debug, Default)]
pub(crate) struct Finds {
    pub(super) files: Vec<File>,
    items: usize,
    bytes: usize,
    pub(super) searched: u64,
    pub(super) binary: u64,
    /// Files that could not be opened or read to their end.
    pub(super) unsearched: u64,
}

impl Finds {
    pub(super) fn add(&mut self, file: File) {
        // Where no lines are shown, the files are counted.
        self.items += file.hits.len().max(1);
        self.bytes += file.shown.len() + file.hits.iter().map(Hit::bytes).sum::<usize>();
        self.files.push(file);
    }

    /// Leaves one page. If there is more: the path and the line it ends with.
    pub(super) fn cut(&mut self, size: Size, show: Show) -> Option<(Vec<u8>, u64)> {
        if show != Show::Lines {
            let more = size.cut(&mut self.files, |file| file.shown.len());
            return self.files.last().filter(|_| more).map(|last| (last.path.clone(), 0));
        }
        let (mut items, mut bytes) = (0, 0);
        let mut full = None;
        for (at, file) in self.files.iter_mut().enumerate() {
            bytes += file.shown.len();
            // However little fits, a page without anything would never lead on.
            let least = usize::from(items == 0);
            let left =
                Size { items: size.items.saturating_sub(items), bytes: size.bytes.saturating_sub(bytes).max(least) };
            if left.cut(&mut file.hits, Hit::bytes) {
                full = Some(at);
                break;
            }
            items += file.hits.len();
            bytes += file.hits.iter().map(Hit::bytes).sum::<usize>();
        }
        self.files.truncate(full.map_or(self.files.len(), |at| at + 1));
        self.files.retain(|file| !file.hits.is_empty());
        full?;
        let last = self.files.last()?;
        Some((last.path.clone(), last.hits.last()?.line))
    }
}

impl Catch for Finds {
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

    fn finds() -> Finds {
        let mut finds = Finds::default();
        for name in ["a", "b", "c"] {
            let hit = |line| Hit { line, text: "hit".into(), cut: false, lossy: false, before: vec![], after: vec![] };
            let file = File { path: name.into(), shown: name.repeat(80), matches: 2, hits: vec![hit(1), hit(2)] };
            finds.add(file);
        }
        finds
    }

    #[test]
    fn a_page_counts_the_paths_as_well_as_the_lines() {
        let end = |bytes| finds().cut(Size { items: 100, bytes }, Show::Lines);
        assert_eq!(end(100), Some((b"a".to_vec(), 1)));
        assert_eq!(end(200), Some((b"a".to_vec(), 2)));
        assert_eq!(end(finds().bytes()), None);
    }

    #[test]
    fn a_page_has_one_match_at_least() {
        assert_eq!(finds().cut(Size { items: 1, bytes: 1 }, Show::Lines), Some((b"a".to_vec(), 1)));
    }
}
