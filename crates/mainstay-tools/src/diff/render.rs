//! Writes unified diffs in git's format, up to a number of bytes.
//!
//! Not with `similar`'s own formatter: it needs all lines of both files in memory and numbers hunks from their start.
//! Here the common beginning and end are cut off first, so that a small change in a large file costs little.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use similar::{Algorithm, DiffOp, DiffTag};

use crate::diff::quoted_path::{quote_path, terminate_path};
use crate::text::line::split_lines;

/// Lines of context around a change.
const CONTEXT_LINES: usize = 3;

/// If the changed region is larger than this, it is shown as replaced and not compared line by line: the comparison
/// takes time and memory proportional to the number of lines times the number of differences.
const MAX_COMPARED_BYTES: usize = 4 * 1024 * 1024;

/// How long the lines of one file are compared. Two files of a million short lines with little in common would take
/// days, and a comparison cannot be cancelled; what has not been compared by then is shown as replaced.
const MAX_COMPARISON_TIME: Duration = Duration::from_secs(2);

/// A file before or after the change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileVersion<'a> {
    pub(crate) path: &'a str,
    pub(crate) content: &'a [u8],
    pub(crate) executable: bool,
}

/// A diff that grows up to its limit; after that only what it omits is counted.
#[derive(Debug)]
pub(crate) struct Diff {
    text: String,
    max_bytes: usize,
    omitted_lines: u64,
    omitted_files: u64,
}

impl Diff {
    pub(crate) fn new(max_bytes: usize) -> Self {
        Self { text: String::new(), max_bytes, omitted_lines: 0, omitted_files: 0 }
    }

    /// Whether nothing more fits: what would be added need not be read from disk.
    pub(crate) fn is_full(&self) -> bool {
        self.omitted_lines > 0 || self.text.len() >= self.max_bytes
    }

    /// Whether everything that was added is shown.
    pub(crate) fn is_complete(&self) -> bool {
        self.omitted_lines == 0 && self.omitted_files == 0
    }

    /// Counts a file that is too large to be shown, or for which there is no room.
    pub(crate) fn omit_file(&mut self) {
        self.omitted_files += 1;
    }

    /// Adds the change of one file. `None` is a file that does not exist: before its creation, or after its removal.
    pub(crate) fn add_file(&mut self, old: Option<FileVersion<'_>>, new: Option<FileVersion<'_>>) {
        if self.is_full() {
            self.omit_file();
            return;
        }
        let Some(some) = new.or(old).filter(|_| old != new) else { return };
        let (from, to) = (old.unwrap_or(some), new.unwrap_or(some));
        let (a, b) = (quote_path("a/", from.path), quote_path("b/", to.path));
        let _ = writeln!(self.text, "diff --git {a} {b}");
        self.extended_header(old, new);
        let (before, after) =
            (old.map_or(&b""[..], |version| version.content), new.map_or(&b""[..], |version| version.content));
        if before == after {
            return;
        }
        let (a, b) = (old.map_or("/dev/null".to_owned(), |_| a), new.map_or("/dev/null".to_owned(), |_| b));
        if is_text(before) && is_text(after) {
            let _ = writeln!(self.text, "--- {}\n+++ {}", terminate_path(a), terminate_path(b));
            self.push_hunks(before, after);
        } else {
            let _ = writeln!(self.text, "Binary files {a} and {b} differ");
        }
    }

    fn extended_header(&mut self, old: Option<FileVersion<'_>>, new: Option<FileVersion<'_>>) {
        let mode = |version: FileVersion<'_>| if version.executable { "100755" } else { "100644" };
        let _ = match (old, new) {
            (None, Some(new)) => writeln!(self.text, "new file mode {}", mode(new)),
            (Some(old), None) => writeln!(self.text, "deleted file mode {}", mode(old)),
            (Some(old), Some(new)) if old.executable != new.executable => {
                writeln!(self.text, "old mode {}\nnew mode {}", mode(old), mode(new))
            }
            (Some(_), Some(_)) | (None, None) => Ok(()),
        };
        if let (Some(old), Some(new)) = (old, new)
            && old.path != new.path
        {
            let _ =
                writeln!(self.text, "rename from {}\nrename to {}", quote_path("", old.path), quote_path("", new.path));
        }
    }

    fn push_hunks(&mut self, old: &[u8], new: &[u8]) {
        // Line numbers count from the start of the file, which is not compared.
        let region = ChangedRegion::of(old, new);
        let before = memchr::memchr_iter(b'\n', &old[..region.start]).count();
        if region.old.len().max(region.new.len()) > MAX_COMPARED_BYTES {
            self.push_replacement(&region, before);
            return;
        }
        // The context belongs to both sides, so that the hunks come out with it.
        let all = |middle| {
            region.head.iter().copied().chain(split_lines(middle)).chain(region.tail.iter().copied()).collect()
        };
        let (old, new): (Vec<&[u8]>, Vec<&[u8]>) = (all(region.old), all(region.new));
        for group in similar::group_diff_ops(region.compare(&old, &new), CONTEXT_LINES) {
            self.push_hunk(&group, &old, &new, before);
        }
    }

    fn push_hunk(&mut self, ops: &[DiffOp], old: &[&[u8]], new: &[&[u8]], before: usize) {
        let (Some(first), Some(last)) = (ops.first(), ops.last()) else { return };
        let header = |start: usize, end: usize| span(before + start, end - start);
        self.push(&format!(
            "@@ -{} +{} @@\n",
            header(first.old_range().start, last.old_range().end),
            header(first.new_range().start, last.new_range().end)
        ));
        for op in ops {
            match op.tag() {
                DiffTag::Equal => self.push_lines(b' ', &old[op.old_range()]),
                DiffTag::Delete | DiffTag::Insert | DiffTag::Replace => {
                    self.push_lines(b'-', &old[op.old_range()]);
                    self.push_lines(b'+', &new[op.new_range()]);
                }
            }
        }
    }

    /// Shows the whole region as removed and added, without collecting its lines in memory.
    fn push_replacement(&mut self, region: &ChangedRegion<'_>, before: usize) {
        let around = region.head.len() + region.tail.len();
        let header = |text: &[u8]| span(before, around + split_lines(text).count());
        self.push(&format!("@@ -{} +{} @@\n", header(region.old), header(region.new)));
        self.push_lines(b' ', &region.head);
        for (sign, text) in [(b'-', region.old), (b'+', region.new)] {
            for line in split_lines(text) {
                self.push_lines(sign, &[line]);
            }
        }
        self.push_lines(b' ', &region.tail);
    }

    fn push_lines(&mut self, sign: u8, lines: &[&[u8]]) {
        for line in lines {
            let mut shown = String::with_capacity(line.len() + 1);
            shown.push(char::from(sign));
            shown.push_str(&String::from_utf8_lossy(line));
            // As git and diff do; `patch` needs it to restore the exact bytes.
            if !shown.ends_with('\n') {
                shown.push_str("\n\\ No newline at end of file\n");
            }
            self.push(&shown);
        }
    }

    fn push(&mut self, line: &str) {
        if self.omitted_lines == 0 && self.text.len() + line.len() <= self.max_bytes {
            self.text.push_str(line);
        } else {
            self.omitted_lines += 1;
        }
    }

    /// The text, with a last line about what it omits.
    pub(crate) fn finish(mut self) -> String {
        if !self.is_complete() {
            let (lines, files) = (self.omitted_lines, self.omitted_files);
            let _ = writeln!(self.text, "... left out: {lines} more lines and the changes of {files} more files");
        }
        self.text
    }
}

/// The lines between the common beginning and the common end of two texts, with the context around them.
struct ChangedRegion<'a> {
    /// The offset of the context before it.
    start: usize,
    head: Vec<&'a [u8]>,
    old: &'a [u8],
    new: &'a [u8],
    tail: Vec<&'a [u8]>,
}

impl<'a> ChangedRegion<'a> {
    fn of(old: &'a [u8], new: &'a [u8]) -> Self {
        let same = old.iter().zip(new).take_while(|(a, b)| a == b).count();
        let middle = line_start(old, same);
        let start = (0..CONTEXT_LINES).fold(middle, |at, _| line_start(old, at.saturating_sub(1)));
        let head = split_lines(&old[start..middle]).collect();
        let (old, new) = (&old[middle..], &new[middle..]);
        let end = common_end(old, new);
        let tail = split_lines(&old[old.len() - end..]).take(CONTEXT_LINES).collect();
        Self { start, head, old: &old[..old.len() - end], new: &new[..new.len() - end], tail }
    }

    /// The differences between `old` and `new`, which both include the context before and after.
    fn compare(&self, old: &[&[u8]], new: &[&[u8]]) -> Vec<DiffOp> {
        let (head, tail) = (self.head.len(), self.tail.len());
        let (old_end, new_end) = (old.len() - tail, new.len() - tail);
        let deadline = Instant::now().checked_add(MAX_COMPARISON_TIME);
        let (old_range, new_range) = (head..old_end, head..new_end);
        let mut ops = similar::capture_diff_deadline(Algorithm::Myers, old, old_range, new, new_range, deadline);
        if head > 0 {
            ops.insert(0, DiffOp::Equal { old_index: 0, new_index: 0, len: head });
        }
        if tail > 0 {
            ops.push(DiffOp::Equal { old_index: old_end, new_index: new_end, len: tail });
        }
        ops
    }
}

/// How many bytes at the end of both texts are equal whole lines.
fn common_end(old: &[u8], new: &[u8]) -> usize {
    let same = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    let begins_a_line = |text: &[u8]| text.len() == same || text[text.len() - same - 1] == b'\n';
    if begins_a_line(old) && begins_a_line(new) {
        return same;
    }
    // The equal bytes begin inside a line: only the lines after it are equal.
    let tail = &old[old.len() - same..];
    memchr::memchr(b'\n', tail).map_or(0, |end| tail.len() - end - 1)
}

/// The offset of the line that contains `at`.
fn line_start(text: &[u8], at: usize) -> usize {
    memchr::memrchr(b'\n', &text[..at]).map_or(0, |end| end + 1)
}

/// Whether content survives being shown in a diff and parsed again.
fn is_text(content: &[u8]) -> bool {
    memchr::memchr(0, content).is_none() && std::str::from_utf8(content).is_ok()
}

/// A range of lines in a hunk header. An empty range names the line before it.
fn span(start: usize, count: usize) -> String {
    if count == 0 { format!("{start},0") } else { format!("{},{count}", start + 1) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TestRandom;

    fn version<'a>(path: &'a str, content: &'a str) -> FileVersion<'a> {
        FileVersion { path, content: content.as_bytes(), executable: false }
    }

    fn diff<'a>(old: impl Into<Option<FileVersion<'a>>>, new: impl Into<Option<FileVersion<'a>>>) -> String {
        let mut diff = Diff::new(1 << 20);
        diff.add_file(old.into(), new.into());
        diff.finish()
    }

    #[test]
    fn a_change_is_shown_with_three_lines_of_context() {
        let old = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        let new = old.replace("5\n", "five\n");
        let expected = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n";
        assert_eq!(diff(version("x", old), version("x", &new)), expected);
    }

    #[test]
    fn files_of_very_many_lines_with_little_in_common_do_not_take_for_ever() {
        let mut random = TestRandom::new(7);
        let mut text = || (0..1_000_000).map(|_| random.pick(&["a\n", "b\n", "c\n"])).collect::<String>();
        let shown = diff(version("x", &text()), version("x", &text()));
        assert!(shown.contains("\n@@ -1,") && shown.contains("left out"), "{} bytes", shown.len());
    }

    #[test]
    fn a_change_among_repeated_lines_has_context() {
        let (old, new) = ("X\nb\nc\nd\nd\nd\nz\n", "b\nc\nd\nd\nd\nd\nz\n");
        let shown = diff(version("x", old), version("x", new));
        assert!(shown.ends_with("@@ -1,6 +1,6 @@\n-X\n b\n c\n+d\n d\n d\n d\n"), "{shown}");
    }

    #[test]
    fn an_unchanged_file_is_not_shown() {
        assert_eq!(diff(version("x", "a"), version("x", "a")), "");
    }

    #[test]
    fn new_and_removed_files_are_compared_with_dev_null() {
        let made = diff(None, version("x", "a\n"));
        assert_eq!(made, "diff --git a/x b/x\nnew file mode 100644\n--- /dev/null\n+++ b/x\n@@ -0,0 +1,1 @@\n+a\n");
        let gone = diff(version("x", "a\n"), None);
        assert_eq!(gone, "diff --git a/x b/x\ndeleted file mode 100644\n--- a/x\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-a\n");
        assert_eq!(diff(None, version("x", "")), "diff --git a/x b/x\nnew file mode 100644\n");
    }

    #[test]
    fn a_missing_newline_at_the_end_is_marked_on_its_side() {
        let shown = diff(version("x", "a\nb"), version("x", "a\nb\n"));
        assert!(shown.ends_with(" a\n-b\n\\ No newline at end of file\n+b\n"), "{shown}");
        let shown = diff(version("x", "a\nb\n"), version("x", "a\nb\nc"));
        assert!(shown.ends_with(" a\n b\n+c\n\\ No newline at end of file\n"), "{shown}");
    }

    #[test]
    fn binary_files_are_only_said_to_differ() {
        let shown = diff(version("x", "a\0"), version("x", "b"));
        assert!(shown.ends_with("Binary files a/x and b/x differ\n"), "{shown}");
    }

    #[test]
    fn renames_modes_and_quoted_names_are_written_as_git_does() {
        let new = Some(FileVersion { path: "new \"name\".sh", content: b"", executable: true });
        let shown = diff(version("old name", ""), new);
        let quoted = "\"new \\\"name\\\".sh\"";
        assert!(shown.contains("old mode 100644\nnew mode 100755\n"), "{shown}");
        assert!(shown.contains(&format!("rename from old name\nrename to {quoted}\n")), "{shown}");
    }

    #[test]
    fn a_diff_keeps_to_its_limit_and_counts_what_it_omits() {
        let long = "line\n".repeat(1000);
        let mut diff = Diff::new(500);
        diff.add_file(None, Some(version("x", &long)));
        diff.add_file(None, Some(version("y", &long)));
        let shown = diff.finish();
        assert!(shown.len() < 700, "{}", shown.len());
        assert!(shown.contains("more lines and the changes of 1 more files"), "{shown}");
    }

    #[test]
    fn texts_that_differ_in_too_much_are_shown_as_replaced() {
        let (old, new) = ("a\n".repeat(MAX_COMPARED_BYTES), "b\n".repeat(10));
        let shown = diff(version("x", &old), version("x", &new));
        assert!(shown.contains(&format!("@@ -1,{MAX_COMPARED_BYTES} +1,10 @@\n-a\n")), "{}", &shown[..200]);
    }
}
