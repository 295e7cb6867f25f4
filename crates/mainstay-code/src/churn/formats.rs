//! A churn report as text: a summary for reading, Markdown for documents, CSV for spreadsheets.
//!
//! Paths and names come from a repository and may contain anything; none of them may look like a line, a cell or a
//! record of its own.

use std::fmt::Write as _;

use super::report::ChurnReport;

/// The first lines of a summary: what was measured, and how much there was.
fn headline(report: &ChurnReport) -> String {
    let ChurnReport { repository_root, period_days, summary, .. } = report;
    if !report.measured {
        return format!(
            "Nothing was measured in {repository_root}: {}\n",
            report.reason.as_deref().unwrap_or_default()
        );
    }
    format!(
        "Churn of {repository_root} in {period_days} days: {} commits, {} authors, {} files, +{} -{} lines.\n",
        summary.total_commits,
        summary.author_contributions.len(),
        summary.total_files_changed,
        summary.total_additions,
        summary.total_deletions
    )
}

/// For reading: one line for each file of the report.
pub fn to_summary(report: &ChurnReport) -> String {
    let mut text = headline(report);
    if !report.files.is_empty() {
        text.push_str("score commits authors added deleted path\n");
    }
    for file in &report.files {
        let _ = writeln!(
            text,
            "{:.2} {} {} {} {} {}",
            file.churn_score,
            file.commit_count,
            file.unique_authors,
            file.additions,
            file.deletions,
            one_line(&file.path)
        );
    }
    if report.files_omitted > 0 {
        let _ = writeln!(text, "[{} more files: raise limit]", report.files_omitted);
    }
    text
}

/// Markdown: a headline and tables of files and authors.
pub fn to_markdown(report: &ChurnReport) -> String {
    let mut text = format!("# Code churn\n\n{}", headline(report));
    if !report.measured {
        return text;
    }
    text.push_str("\n## Files\n\n| Score | Commits | Authors | Added | Deleted | Last change | File |\n");
    text.push_str("|---:|---:|---:|---:|---:|---|---|\n");
    for file in &report.files {
        let _ = writeln!(
            text,
            "| {:.2} | {} | {} | {} | {} | {} | {} |",
            file.churn_score,
            file.commit_count,
            file.unique_authors,
            file.additions,
            file.deletions,
            // The day is enough for a table.
            file.last_modified.get(..10).unwrap_or(&file.last_modified),
            markdown_cell(&file.path)
        );
    }
    if report.files_omitted > 0 {
        let _ = writeln!(text, "\n{} more files are not listed.", report.files_omitted);
    }
    text.push_str("\n## Authors\n\n| Author | Commits |\n|---|---:|\n");
    // The sort is stable: authors with as many commits stay in the order of their names.
    let mut authors: Vec<_> = report.summary.author_contributions.iter().collect();
    authors.sort_by(|a, b| b.1.cmp(a.1));
    for (author, commits) in authors {
        let _ = writeln!(text, "| {} | {commits} |", markdown_cell(author));
    }
    text
}

/// CSV as in RFC 4180: a header, then one record for each file.
pub fn to_csv(report: &ChurnReport) -> String {
    let mut text =
        "path,commit_count,unique_authors,additions,deletions,churn_score,first_seen,last_modified\r\n".to_owned();
    for file in &report.files {
        let _ = write!(
            text,
            "{},{},{},{},{},{:.4},{},{}\r\n",
            csv_field(&file.path),
            file.commit_count,
            file.unique_authors,
            file.additions,
            file.deletions,
            file.churn_score,
            file.first_seen,
            file.last_modified
        );
    }
    text
}

/// A name that does not break its line.
fn one_line(name: &str) -> String {
    if name.chars().any(char::is_control) { name.escape_debug().to_string() } else { name.to_owned() }
}

/// A cell of a Markdown table: no line breaks, and nothing that would end the cell or be markup.
pub(crate) fn markdown_cell(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    for c in one_line(name).chars() {
        if matches!(c, '|' | '\\' | '*' | '_' | '`' | '[' | ']' | '<' | '>' | '#') {
            text.push('\\');
        }
        text.push(c);
    }
    text
}

/// A field of CSV. In quotes if it needs them, with its own quotes doubled.
pub(crate) fn csv_field(field: &str) -> String {
    let plain = !field.contains(['"', ',', '\r', '\n']) && field.trim() == field;
    if plain { field.to_owned() } else { format!("\"{}\"", field.replace('"', "\"\"")) }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::super::{ChurnReport, LogParser, Period};
    use super::*;

    fn report() -> ChurnReport {
        let mut parser = LogParser::default();
        parser.push(b"\x0286400 A | B\0\n3\t1\tsrc/a|b.rs\x001\t0\tx \"y\",\nz\0").unwrap();
        let period = Period { now: Timestamp::UNIX_EPOCH, days: 30, repository: ".".into() };
        ChurnReport::new(&parser.finish().unwrap(), period, &|_| true)
    }

    #[test]
    fn the_summary_has_a_line_for_each_file() {
        let text = to_summary(&report());
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[0], "Churn of . in 30 days: 1 commits, 1 authors, 2 files, +4 -1 lines.");
        assert_eq!(lines[2..], ["1.00 1 1 3 1 src/a|b.rs", "0.70 1 1 1 0 x \\\"y\\\",\\nz"]);
    }

    #[test]
    fn a_name_cannot_break_a_table() {
        let text = to_markdown(&report());
        assert!(text.contains("| 1.00 | 1 | 1 | 3 | 1 | 1970-01-02 | src/a\\|b.rs |\n"), "{text}");
        assert!(text.contains("| A \\| B | 1 |\n"), "{text}");
    }

    #[test]
    fn csv_quotes_what_would_be_read_as_something_else() {
        let text = to_csv(&report());
        assert!(text.contains("\r\n\"x \"\"y\"\",\nz\",1,1,1,0,0.7000,1970-01-02T00:00:00Z,"), "{text}");
    }

    #[test]
    fn a_repository_without_commits_is_told_as_such() {
        let period = Period { now: Timestamp::UNIX_EPOCH, days: 30, repository: "repo".into() };
        let empty = ChurnReport::not_measured(period, "The repository has no commits.");
        for text in [to_summary(&empty), to_markdown(&empty)] {
            assert!(text.contains("Nothing was measured in repo: The repository has no commits."), "{text}");
        }
    }
}
