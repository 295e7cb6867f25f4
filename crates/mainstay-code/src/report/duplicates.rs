//! Groups of copies, with the names of their files.

use serde::Serialize;

use super::measurement::FailedFile;
use crate::CloneGroup;

/// Code that occurs more than once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DuplicateReport {
    /// False if there was nothing to compare: `reason` says why.
    pub measured: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    pub total_files: usize,
    pub total_groups: usize,
    /// Lines of all copies but the first of each group.
    pub duplicated_lines: u64,
    /// The largest first.
    pub groups: Vec<DuplicateGroup>,
    /// Files that could not be parsed, by name; at most 50.
    pub files_failed: Vec<FailedFile>,
    pub files_failed_omitted: usize,
}

/// The most failed files in the report.
const MAX_FAILED: usize = 50;

/// Code that is the same in all of its places.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DuplicateGroup {
    pub lines: u32,
    pub tokens: usize,
    pub places: Vec<DuplicatePlace>,
}

/// One copy; both lines are part of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DuplicatePlace {
    pub file: String,
    pub start_line: u32,
    pub end_line: u32,
}

impl DuplicateReport {
    /// The first `limit` groups. `files` has the paths of the compared files by their numbers.
    pub fn new(
        groups: &[CloneGroup],
        files: &[String],
        mut failed: Vec<FailedFile>,
        limit: usize,
        sought: &str,
    ) -> Self {
        let reason = match (files.len(), failed.len()) {
            (0, 0) => Some(format!("There are no {sought}.")),
            (0, failed) => Some(format!("None of the {failed} {sought} could be parsed.")),
            _ => None,
        };
        let files_failed_omitted = failed.len().saturating_sub(MAX_FAILED);
        failed.truncate(MAX_FAILED);
        let copies = |group: &CloneGroup| {
            let lines = group.places.iter().skip(1).map(|place| u64::from(place.end_line + 1 - place.start_line));
            lines.sum::<u64>()
        };
        Self {
            measured: reason.is_none(),
            reason,
            total_files: files.len(),
            total_groups: groups.len(),
            duplicated_lines: groups.iter().map(copies).sum(),
            groups: groups.iter().take(limit).map(|group| named(group, files)).collect(),
            files_failed: failed,
            files_failed_omitted,
        }
    }
}

/// A group with the paths of its files instead of their numbers.
fn named(group: &CloneGroup, files: &[String]) -> DuplicateGroup {
    let places = group.places.iter().map(|place| DuplicatePlace {
        file: files.get(place.file).cloned().unwrap_or_default(),
        start_line: place.start_line,
        end_line: place.end_line,
    });
    DuplicateGroup { lines: group.lines, tokens: group.tokens, places: places.collect() }
}
