//! The matches of a search, in path order.

use crate::files::walk::page::PageLimits;

/// What a search returns of each file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(crate) enum Show {
    #[default]
    Lines,
    Files,
    Counts,
}

/// A matching line, or several lines if the match spans them.
#[derive(Debug, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
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
#[derive(Debug, serde::Serialize, schemars::JsonSchema)]
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

impl FileMatches {
    /// How many results of a page it counts as. Where no lines are shown, a page counts files.
    pub(crate) fn items(&self) -> usize {
        self.matches.len().max(1)
    }

    /// The size in a reply.
    pub(crate) fn bytes(&self) -> usize {
        self.path.len() + self.matches.iter().map(LineMatch::bytes).sum::<usize>()
    }
}

/// Cuts the results to one page. If there is more, returns the path and the line that the page ends with; line 0
/// stands for the end of the file.
pub(crate) fn truncate(files: &mut Vec<FileMatches>, limits: PageLimits, show: Show) -> Option<(Vec<u8>, u64)> {
    if show != Show::Lines {
        return limits.truncate(files, |file| file.path.len()).map(|last| (last.path_bytes.clone(), 0));
    }
    let (mut items, mut bytes) = (0, 0);
    let mut full = None;
    for (at, file) in files.iter_mut().enumerate() {
        bytes += file.path.len();
        // At least one match, however large: the cursor of an empty page would lead to the same page again.
        let least = usize::from(items == 0);
        let left = PageLimits {
            items: limits.items.saturating_sub(items),
            bytes: limits.bytes.saturating_sub(bytes).max(least),
        };
        let found = file.matches.len();
        left.truncate(&mut file.matches, LineMatch::bytes);
        if file.matches.len() < found {
            full = Some(at);
            break;
        }
        items += file.matches.len();
        bytes += file.matches.iter().map(LineMatch::bytes).sum::<usize>();
    }
    files.truncate(full.map_or(files.len(), |at| at + 1));
    files.retain(|file| !file.matches.is_empty());
    full?;
    let last = files.last()?;
    Some((last.path_bytes.clone(), last.matches.last()?.line))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results() -> Vec<FileMatches> {
        let file = |name: &str| {
            let line = |line| LineMatch {
                line,
                text: "hit".into(),
                cut: false,
                lossy: false,
                before: Vec::new(),
                after: Vec::new(),
            };
            let matches = vec![line(1), line(2)];
            FileMatches { path_bytes: name.into(), path: name.repeat(80), count: None, matches }
        };
        ["a", "b", "c"].map(file).into()
    }

    #[test]
    fn a_page_counts_the_paths_as_well_as_the_lines() {
        let end = |bytes| truncate(&mut results(), PageLimits { items: 100, bytes }, Show::Lines);
        assert_eq!(end(100), Some((b"a".to_vec(), 1)));
        assert_eq!(end(200), Some((b"a".to_vec(), 2)));
        assert_eq!(end(results().iter().map(FileMatches::bytes).sum()), None);
    }

    #[test]
    fn a_page_has_at_least_one_match() {
        let limits = PageLimits { items: 1, bytes: 1 };
        assert_eq!(truncate(&mut results(), limits, Show::Lines), Some((b"a".to_vec(), 1)));
    }
}
