//! The report: scores, totals and lists, as every format and tool tells them.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;

use super::history::{FileHistory, History};

/// A file above this score is a hotspot, one below the second is stable.
const HOTSPOT_SCORE: f64 = 0.5;
const STABLE_SCORE: f64 = 0.1;
/// The most paths in each of the two lists.
const MAX_LISTED: usize = 10;

/// How much each number of commits and of changed lines counts for the score.
const COMMITS_WEIGHT: f64 = 0.6;
const LINES_WEIGHT: f64 = 0.4;

/// When a report was made, and what of.
#[derive(Debug, Clone)]
pub struct Period {
    pub now: Timestamp,
    pub days: u32,
    /// The directory of the repository, as callers see it.
    pub repository: String,
}

/// How files have changed in a period.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChurnReport {
    pub generated_at: String,
    pub period_days: u32,
    pub repository_root: String,
    /// False if there was nothing to measure: `reason` says why.
    pub measured: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The highest score first.
    pub files: Vec<FileChurn>,
    /// Files that are not in `files`, because the caller wanted fewer.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub files_omitted: u64,
    pub summary: ChurnSummary,
}

/// The changes of one file in the period.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FileChurn {
    pub path: String,
    pub commit_count: u64,
    pub unique_authors: u64,
    pub additions: u64,
    pub deletions: u64,
    /// 0 to 1: 0.6 of it for commits, 0.4 for changed lines, relative to the file with most.
    pub churn_score: f64,
    pub first_seen: String,
    pub last_modified: String,
}

/// Totals of the period.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ChurnSummary {
    pub total_commits: u64,
    pub total_files_changed: u64,
    pub total_additions: u64,
    pub total_deletions: u64,
    /// Paths with a score above 0.5, at most 10.
    pub hotspot_files: Vec<String>,
    /// Paths with a score below 0.1, at most 10.
    pub stable_files: Vec<String>,
    /// Commits by author.
    pub author_contributions: BTreeMap<String, u64>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl ChurnReport {
    /// The report of a history. `exists` is asked for the [uncertain names](History::uncertain_names) alone.
    pub fn new(history: &History, period: Period, exists: &dyn Fn(&[u8]) -> bool) -> Self {
        let histories = history.files(exists);
        let lines = |file: &FileHistory| file.additions.saturating_add(file.deletions);
        let most_commits = histories.iter().map(|file| file.commits).max().unwrap_or(0);
        let most_lines = histories.iter().map(lines).max().unwrap_or(0);
        let score = |file: &FileHistory| {
            let commits = COMMITS_WEIGHT * share(file.commits, most_commits);
            (commits + LINES_WEIGHT * share(lines(file), most_lines)).min(1.0)
        };
        let mut files: Vec<FileChurn> = histories
            .into_iter()
            .map(|file| FileChurn {
                churn_score: score(&file),
                path: file.path,
                commit_count: file.commits,
                unique_authors: file.authors,
                additions: file.additions,
                deletions: file.deletions,
                first_seen: date(file.first),
                last_modified: date(file.last),
            })
            .collect();
        // Stable, so that equal scores stay in the order of paths.
        files.sort_by(|a, b| b.churn_score.total_cmp(&a.churn_score));
        let listed = |wanted: &mut dyn Iterator<Item = &FileChurn>| {
            wanted.take(MAX_LISTED).map(|file| file.path.clone()).collect::<Vec<_>>()
        };
        let summary = ChurnSummary {
            total_commits: history.commits(),
            total_files_changed: files.len() as u64,
            total_additions: files.iter().map(|file| file.additions).sum(),
            total_deletions: files.iter().map(|file| file.deletions).sum(),
            hotspot_files: listed(&mut files.iter().filter(|file| file.churn_score > HOTSPOT_SCORE)),
            stable_files: listed(&mut files.iter().rev().filter(|file| file.churn_score < STABLE_SCORE)),
            author_contributions: history.authors().fold(BTreeMap::new(), |mut all, (name, commits)| {
                // Names that differ only in bytes that are not UTF-8 are told as one.
                *all.entry(name).or_default() += commits;
                all
            }),
        };
        Self { files, summary, ..Self::empty(period) }
    }

    /// The report of a repository in which there is nothing to measure.
    pub fn not_measured(period: Period, reason: impl Into<String>) -> Self {
        Self { measured: false, reason: Some(reason.into()), ..Self::empty(period) }
    }

    fn empty(period: Period) -> Self {
        Self {
            generated_at: date(period.now.as_second()),
            period_days: period.days,
            repository_root: period.repository,
            measured: true,
            reason: None,
            files: Vec::new(),
            files_omitted: 0,
            summary: ChurnSummary::default(),
        }
    }

    /// Keeps the files with the highest scores and the authors with most commits, so many of each.
    pub fn truncate(&mut self, most: usize) {
        self.files_omitted += self.files.len().saturating_sub(most) as u64;
        self.files.truncate(most);
        let authors = &mut self.summary.author_contributions;
        if authors.len() > most {
            let mut by_commits: Vec<_> = std::mem::take(authors).into_iter().collect();
            by_commits.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
            authors.extend(by_commits.into_iter().take(most));
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
fn share(part: u64, most: u64) -> f64 {
    if most == 0 { 0.0 } else { part as f64 / most as f64 }
}

/// A time as RFC 3339 in UTC. One that the calendar does not reach can only come from a forged commit.
fn date(seconds: i64) -> String {
    Timestamp::from_second(seconds).map_or_else(|_| format!("@{seconds}"), |time| time.to_string())
}

#[cfg(test)]
mod tests {
    use super::super::LogParser;
    use super::*;

    pub(crate) fn report(log: &[u8]) -> ChurnReport {
        let mut parser = LogParser::default();
        parser.push(log).unwrap();
        let period = Period { now: Timestamp::UNIX_EPOCH, days: 30, repository: ".".into() };
        ChurnReport::new(&parser.finish().unwrap(), period, &|_| true)
    }

    #[test]
    fn the_score_weighs_commits_and_lines_against_the_most_of_each() {
        let report = report(b"\x029 A\0\n8\t2\ta\0\x0288 A\0\n0\t0\ta\x00100\t0\tb\0\x027 B\0\n-\t-\tc\0");
        let scores: Vec<_> = report.files.iter().map(|file| (file.path.as_str(), file.churn_score)).collect();
        assert_eq!(scores, [("b", 0.6 * 0.5 + 0.4), ("a", 0.6 + 0.4 * 0.1), ("c", 0.3)]);
        assert_eq!(report.summary.hotspot_files, ["b", "a"]);
        assert_eq!((report.summary.total_commits, report.summary.total_files_changed), (3, 3));
        assert_eq!((report.summary.total_additions, report.summary.total_deletions), (108, 2));
        assert_eq!(report.files[1].last_modified, "1970-01-01T00:01:28Z");
    }

    #[test]
    fn files_without_lines_have_a_score_from_their_commits() {
        let report = report(b"\x029 A\0\n-\t-\tbin\0");
        assert!((report.files[0].churn_score - 0.6).abs() < 1e-12);
    }

    #[test]
    fn lists_are_short_and_the_rest_is_counted() {
        let mut log = b"\x0299 A\0".to_vec();
        for number in 0..40 {
            log.extend(format!("{number}\t0\tf{number:02}\0").into_bytes());
        }
        for number in 0..20 {
            log.extend(format!("\x02{number} A{number:02}\0\n1000\t0\thot\0").into_bytes());
        }
        let mut report = report(&log);
        assert_eq!(report.summary.hotspot_files, ["hot"]);
        assert_eq!(report.summary.stable_files.len(), 10);
        report.truncate(5);
        assert_eq!((report.files.len(), report.files_omitted), (5, 36));
        assert_eq!(report.summary.author_contributions.len(), 5);
        assert_eq!(report.summary.total_files_changed, 41);
    }

    #[test]
    fn nothing_to_measure_is_no_empty_success() {
        let period = Period { now: Timestamp::UNIX_EPOCH, days: 30, repository: ".".into() };
        let report = serde_json::to_value(ChurnReport::not_measured(period, "No commits.")).unwrap();
        assert_eq!((&report["measured"], &report["reason"]), (&false.into(), &"No commits.".into()));
    }
}
