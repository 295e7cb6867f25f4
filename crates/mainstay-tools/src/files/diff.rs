//! Unified diffs in git's form, within a given room.

use std::fmt::Write as _;

use similar::{Algorithm, DiffOp, DiffTag};

use super::names::{ended, quoted};

/// Lines that are shown around a change.
const CONTEXT: usize = 3;

/// Where two texts differ in more than this, they are shown as one text replaced by the other.
const COMPARED: usize = 4 * 1024 * 1024;

/// One side of a change: a file with its name, its content and whether it can be run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Side<'a> {
    pub(super) path: &'a str,
    pub(super) content: &'a [u8],
    pub(super) executable: bool,
}

/// A diff that grows until its room is used up.
#[derive(Debug)]
pub(super) struct Diff {
    text: String,
    room: usize,
    lines_left_out: u64,
    files_left_out: u64,
}

impl Diff {
    pub(super) fn new(room: usize) -> Self {
        Self { text: String::new(), room, lines_left_out: 0, files_left_out: 0 }
    }

    /// Whether nothing more will be shown: what would be added need not be read.
    pub(super) fn is_full(&self) -> bool {
        self.lines_left_out > 0 || self.text.len() >= self.room
    }

    pub(super) fn is_whole(&self) -> bool {
        self.lines_left_out == 0 && self.files_left_out == 0
    }

    /// Something that cannot be shown, or for which there is no room.
    pub(super) fn leave_out(&mut self) {
        self.files_left_out += 1;
    }

    /// Adds what happens to one file. A side that is not there is a file that is not there.
    pub(super) fn file(&mut self, old: Option<Side<'_>>, new: Option<Side<'_>>) {
        if self.is_full() {
            self.leave_out();
            return;
        }
        let Some(some) = new.or(old).filter(|_| old != new) else { return };
        let (from, to) = (old.unwrap_or(some), new.unwrap_or(some));
        let (a, b) = (quoted("a/", from.path), quoted("b/", to.path));
        let _ = writeln!(self.text, "diff --git {a} {b}");
        self.kind_of_change(old, new);
        let (before, after) = (old.map_or(&b""[..], |side| side.content), new.map_or(&b""[..], |side| side.content));
        if before == after {
            return;
        }
        let (a, b) = (old.map_or("/dev/null".to_owned(), |_| a), new.map_or("/dev/null".to_owned(), |_| b));
        if is_text(before) && is_text(after) {
            let _ = writeln!(self.text, "--- {}\n+++ {}", ended(a), ended(b));
            self.hunks(before, after);
        } else {
            let _ = writeln!(self.text, "Binary files {a} and {b} differ");
        }
    }

    fn kind_of_change(&mut self, old: Option<Side<'_>>, new: Option<Side<'_>>) {
        let mode = |side: Side<'_>| if side.executable { "100755" } else { "100644" };
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
            let _ = writeln!(self.text, "rename from {}\nrename to {}", quoted("", old.path), quoted("", new.path));
        }
    }

    fn hunks(&mut self, old: &[u8], new: &[u8]) {
        let parts = Parts::of(old, new);
        let before = memchr::memchr_iter(b'\n', &old[..parts.start]).count();
        if parts.old.len().max(parts.new.len()) > COMPARED {
            self.replaced(&parts, before);
            return;
        }
        let all = |middle| parts.head.iter().copied().chain(lines(middle)).chain(parts.tail.iter().copied()).collect();
        let (old, new): (Vec<&[u8]>, Vec<&[u8]>) = (all(parts.old), all(parts.new));
        for group in similar::group_diff_ops(parts.compare(&old, &new), CONTEXT) {
            self.hunk(&group, &old, &new, before);
        }
    }

    fn hunk(&mut self, ops: &[DiffOp], old: &[&[u8]], new: &[&[u8]], before: usize) {
        let (Some(first), Some(last)) = (ops.first(), ops.last()) else { return };
        let header = |start: usize, end: usize| span(before + start, end - start);
        self.line(&format!(
            "@@ -{} +{} @@\n",
            header(first.old_range().start, last.old_range().end),
            header(first.new_range().start, last.new_range().end)
        ));
        for op in ops {
            match op.tag() {
                DiffTag::Equal => self.all(b' ', &old[op.old_range()]),
                DiffTag::Delete | DiffTag::Insert | DiffTag::Replace => {
                    self.all(b'-', &old[op.old_range()]);
                    self.all(b'+', &new[op.new_range()]);
                }
            }
        }
    }

    /// Too much to compare line by line.
    fn replaced(&mut self, parts: &Parts<'_>, before: usize) {
        let around = parts.head.len() + parts.tail.len();
        let header = |text: &[u8]| span(before, around + lines(text).count());
        self.line(&format!("@@ -{} +{} @@\n", header(parts.old), header(parts.new)));
        self.all(b' ', &parts.head);
        for (sign, text) in [(b'-', parts.old), (b'+', parts.new)] {
            for line in lines(text) {
                self.all(sign, &[line]);
            }
        }
        self.all(b' ', &parts.tail);
    }

    fn all(&mut self, sign: u8, lines: &[&[u8]]) {
        for line in lines {
            let mut shown = String::with_capacity(line.len() + 1);
            shown.push(char::from(sign));
            shown.push_str(&String::from_utf8_lossy(line));
            if !shown.ends_with('\n') {
                shown.push_str("\n\\ No newline at end of file\n");
            }
            self.line(&shown);
        }
    }

    fn line(&mut self, line: &str) {
        if self.lines_left_out == 0 && self.text.len() + line.len() <= self.room {
            self.text.push_str(line);
        } else {
            self.lines_left_out += 1;
        }
    }

    /// The text, with a last line about what is missing from it.
    pub(super) fn finish(mut self) -> String {
        if !self.is_whole() {
            let (lines, files) = (self.lines_left_out, self.files_left_out);
            let _ = writeln!(self.text, "... left out: {lines} more lines and the changes of {files} more files");
        }
        self.text
    }
}

/// Where two texts differ, in whole lines, and the lines around that.
struct Parts<'a> {
    /// Where the lines before it begin.
    start: usize,
    head: Vec<&'a [u8]>,
    old: &'a [u8],
    new: &'a [u8],
    tail: Vec<&'a [u8]>,
}

impl<'a> Parts<'a> {
    fn of(old: &'a [u8], new: &'a [u8]) -> Self {
        let same = old.iter().zip(new).take_while(|(a, b)| a == b).count();
        let middle = line_start(old, same);
        let start = (0..CONTEXT).fold(middle, |at, _| line_start(old, at.saturating_sub(1)));
        let head = lines(&old[start..middle]).collect();
        let (old, new) = (&old[middle..], &new[middle..]);
        let end = common_end(old, new);
        let tail = lines(&old[old.len() - end..]).take(CONTEXT).collect();
        Self { start, head, old: &old[..old.len() - end], new: &new[..new.len() - end], tail }
    }

    /// The head and the tail are the same; what lies between is compared.
    fn compare(&self, old: &[&[u8]], new: &[&[u8]]) -> Vec<DiffOp> {
        let (head, tail) = (self.head.len(), self.tail.len());
        let (old_end, new_end) = (old.len() - tail, new.len() - tail);
        let mut ops = similar::capture_diff(Algorithm::Myers, old, head..old_end, new, head..new_end);
        if head > 0 {
            ops.insert(0, DiffOp::Equal { old_index: 0, new_index: 0, len: head });
        }
        if tail > 0 {
            ops.push(DiffOp::Equal { old_index: old_end, new_index: new_end, len: tail });
        }
        ops
    }
}

/// How many bytes of whole lines are the same at the end of both.
fn common_end(old: &[u8], new: &[u8]) -> usize {
    let same = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    let begins_a_line = |text: &[u8]| text.len() == same || text[text.len() - same - 1] == b'\n';
    if begins_a_line(old) && begins_a_line(new) {
        return same;
    }
    let tail = &old[old.len() - same..];
    memchr::memchr(b'\n', tail).map_or(0, |end| tail.len() - end - 1)
}

/// Where the line begins that `at` is in.
fn line_start(text: &[u8], at: usize) -> usize {
    memchr::memrchr(b'\n', &text[..at]).map_or(0, |end| end + 1)
}

/// Lines as a diff knows them: each with its end, and only a line feed ends one.
pub(super) fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split_inclusive(|byte| *byte == b'\n')
}

/// Whether content can be shown in a diff and come back unchanged.
pub(super) fn is_text(content: &[u8]) -> bool {
    memchr::memchr(0, content).is_none() && std::str::from_utf8(content).is_ok()
}

/// A range of lines; one that is empty stands after the line it names.
fn span(start: usize, count: usize) -> String {
    if count == 0 { format!("{start},0") } else { format!("{},{count}", start + 1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side<'a>(path: &'a str, content: &'a str) -> Side<'a> {
        Side { path, content: content.as_bytes(), executable: false }
    }

    fn diff<'a>(old: impl Into<Option<Side<'a>>>, new: impl Into<Option<Side<'a>>>) -> String {
        let mut diff = Diff::new(1 << 20);
        diff.file(old.into(), new.into());
        diff.finish()
    }

    #[test]
    fn a_change_is_shown_with_three_lines_around_it() {
        let old = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        let new = old.replace("5\n", "five\n");
        let expected = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n";
        assert_eq!(diff(side("x", old), side("x", &new)), expected);
    }

    #[test]
    fn a_change_among_lines_that_repeat_has_its_context_too() {
        let (old, new) = ("X\nb\nc\nd\nd\nd\nz\n", "b\nc\nd\nd\nd\nd\nz\n");
        let shown = diff(side("x", old), side("x", new));
        assert!(shown.ends_with("@@ -1,6 +1,6 @@\n-X\n b\n c\n+d\n d\n d\n d\n"), "{shown}");
    }

    #[test]
    fn what_stays_the_same_is_not_shown() {
        assert_eq!(diff(side("x", "a"), side("x", "a")), "");
    }

    #[test]
    fn new_and_removed_files_have_no_other_side() {
        let made = diff(None, side("x", "a\n"));
        assert_eq!(made, "diff --git a/x b/x\nnew file mode 100644\n--- /dev/null\n+++ b/x\n@@ -0,0 +1,1 @@\n+a\n");
        let gone = diff(side("x", "a\n"), None);
        assert_eq!(gone, "diff --git a/x b/x\ndeleted file mode 100644\n--- a/x\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-a\n");
        assert_eq!(diff(None, side("x", "")), "diff --git a/x b/x\nnew file mode 100644\n");
    }

    #[test]
    fn a_missing_last_newline_is_said_on_the_side_that_misses_it() {
        let shown = diff(side("x", "a\nb"), side("x", "a\nb\n"));
        assert!(shown.ends_with(" a\n-b\n\\ No newline at end of file\n+b\n"), "{shown}");
        let shown = diff(side("x", "a\nb\n"), side("x", "a\nb\nc"));
        assert!(shown.ends_with(" a\n b\n+c\n\\ No newline at end of file\n"), "{shown}");
    }

    #[test]
    fn content_that_is_no_text_is_only_said_to_differ() {
        let shown = diff(side("x", "a\0"), side("x", "b"));
        assert!(shown.ends_with("Binary files a/x and b/x differ\n"), "{shown}");
    }

    #[test]
    fn renames_modes_and_odd_names_are_written_as_git_writes_them() {
        let new = Some(Side { path: "new \"name\".sh", content: b"", executable: true });
        let shown = diff(side("old name", ""), new);
        let quoted = "\"new \\\"name\\\".sh\"";
        assert!(shown.contains("old mode 100644\nnew mode 100755\n"), "{shown}");
        assert!(shown.contains(&format!("rename from old name\nrename to {quoted}\n")), "{shown}");
    }

    #[test]
    fn a_diff_keeps_within_its_room_and_says_what_is_missing() {
        let long = "line\n".repeat(1000);
        let mut diff = Diff::new(500);
        diff.file(None, Some(side("x", &long)));
        diff.file(None, Some(side("y", &long)));
        let shown = diff.finish();
        assert!(shown.len() < 700, "{}", shown.len());
        assert!(shown.contains("more lines and the changes of 1 more files"), "{shown}");
    }

    #[test]
    fn texts_that_differ_in_too_much_are_shown_as_replaced() {
        let (old, new) = ("a\n".repeat(COMPARED), "b\n".repeat(10));
        let shown = diff(side("x", &old), side("x", &new));
        assert!(shown.contains(&format!("@@ -1,{COMPARED} +1,10 @@\n-a\n")), "{}", &shown[..200]);
    }
}
