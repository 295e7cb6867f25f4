//! Reading one hunk of a patch.

use mainstay_core::{Error, Result};

use super::replace::quote;
use super::unified::{Reader, wrong};

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Hunk {
    /// The line it begins at, from 1, if the patch says so.
    pub(super) start: Option<usize>,
    /// A line that comes somewhere before it.
    pub(super) anchor: Option<String>,
    pub(super) lines: Vec<Line>,
    /// The form knows no missing newline at the end of a file.
    pub(super) loose_end: bool,
    /// Where it stands in the patch.
    pub(super) at: usize,
}

/// A line with its end.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) sign: Sign,
    pub(super) text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    Context,
    Removed,
    Added,
}

impl Reader<'_> {
    pub(super) fn hunk(&mut self) -> Result<Hunk> {
        let begins = self.number();
        let header = self.peek().unwrap_or_default();
        self.advance();
        let body = self.at;
        let Some(Ranges { start, old, new }) = ranges(header) else {
            let anchor = header.trim_matches('@').trim();
            let anchor = Some(anchor.to_owned()).filter(|anchor| !anchor.is_empty());
            let lines = self.uncounted(Count::default())?;
            self.nothing_stray()?;
            return Ok(Hunk { anchor, lines, at: begins, ..Hunk::default() });
        };
        let lines = if let Some(lines) = self.counted(old, new) {
            lines
        } else {
            // There are more lines than the numbers say, and they still say what is meant. Fewer, and the rest is
            // missing.
            self.at = body;
            let said = Count { old, new };
            let lines = self.uncounted(said)?;
            let there = Count::of(&lines);
            if there.old < old || there.new < new {
                return Err(self.cut_off(begins, said, there));
            }
            self.nothing_stray()?;
            lines
        };
        Ok(Hunk { start: Some(start), lines, at: begins, ..Hunk::default() })
    }

    fn cut_off(&self, begins: usize, said: Count, there: Count) -> Error {
        let end = match self.peek() {
            Some(line) => format!("before line {} of the patch, {}", self.number(), quote(line.as_bytes())),
            None => "where the patch ends".to_owned(),
        };
        let reason = format!(
            "this hunk is cut off: its header says {} old and {} new lines, and there are {} and {} {end}. Give all of \
             its lines, each with a space, + or - before it, or a header with the right numbers",
            said.old, said.new, there.old, there.new
        );
        wrong(begins, &reason)
    }

    /// A hunk whose lines could not be counted ends at the first line that is none. What looks like one of its lines
    /// after that would be lost.
    fn nothing_stray(&self) -> Result<()> {
        let ends = self.lines[self.at.min(self.lines.len())..].iter().zip(self.at..);
        let mut rest = ends.take_while(|(line, at)| {
            !["diff ", "@@", "-- \n"].iter().any(|end| line.starts_with(end)) && !self.names_at(*at)
        });
        match rest.find(|(line, _)| line.starts_with(['+', '-'])) {
            Some((_, at)) => {
                let reason = format!(
                    "no hunk has this line, because line {} of the patch has no space, + or - before it",
                    self.number()
                );
                Err(wrong(at + 1, &reason))
            }
            None => Ok(()),
        }
    }

    /// As many lines as the header says; `None` if that is not how many there are.
    fn counted(&mut self, mut old: usize, mut new: usize) -> Option<Vec<Line>> {
        let mut lines: Vec<Line> = Vec::new();
        while old > 0 || new > 0 || self.peek().is_some_and(|line| line.starts_with('\\')) {
            let line = self.peek_whole()?;
            if line.starts_with('\\') {
                unended(&mut lines)?;
            } else {
                let line = line_in(line)?;
                old = old.checked_sub(usize::from(line.is_old()))?;
                new = new.checked_sub(usize::from(line.is_new()))?;
                lines.push(line);
            }
            self.advance();
        }
        // `-- ` is how a letter with a patch in it ends.
        let is_line = |line: &str| line.starts_with([' ', '+', '-']) && line != "-- ";
        let more = self.peek().is_some_and(is_line) && !self.at_names();
        (!more).then_some(lines)
    }

    /// Lines for as long as they look like those of a hunk that has at least so many.
    pub(super) fn uncounted(&mut self, least: Count) -> Result<Vec<Line>> {
        let mut lines: Vec<Line> = Vec::new();
        while let Some(line) = self.peek_whole() {
            if self.at_names() {
                break;
            }
            if line.starts_with('\\') {
                unended(&mut lines).ok_or_else(|| wrong(self.number(), "no line comes before this one"))?;
            } else if let Some(line) = line_in(line) {
                lines.push(line);
            } else {
                break;
            }
            self.advance();
        }
        let mut there = Count::of(&lines);
        // Blank lines after a hunk belong to nobody.
        let blank = |line: &Line| line.sign == Sign::Context && line.text.trim().is_empty();
        while there.old > least.old && there.new > least.new && lines.last().is_some_and(blank) {
            lines.pop();
            there = Count { old: there.old - 1, new: there.new - 1 };
        }
        Ok(lines)
    }
}

/// How many lines of the old file and of the new one a hunk has.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Count {
    old: usize,
    new: usize,
}

impl Count {
    fn of(lines: &[Line]) -> Self {
        let count = |is: fn(&Line) -> bool| lines.iter().filter(|line| is(line)).count();
        Self { old: count(Line::is_old), new: count(Line::is_new) }
    }
}

impl Line {
    fn is_old(&self) -> bool {
        self.sign != Sign::Added
    }

    fn is_new(&self) -> bool {
        self.sign != Sign::Removed
    }
}

/// A line of a hunk. Some writers leave out the space of an empty one.
fn line_in(line: &str) -> Option<Line> {
    let sign = match line.chars().next()? {
        ' ' => Sign::Context,
        '-' => Sign::Removed,
        '+' => Sign::Added,
        '\n' | '\r' => return Some(Line { sign: Sign::Context, text: line.to_owned() }),
        _ => return None,
    };
    let text = &line[1..];
    let text = if text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") };
    Some(Line { sign, text })
}

/// The line before has no newline.
fn unended(lines: &mut [Line]) -> Option<()> {
    lines.last_mut()?.text.pop();
    Some(())
}

/// What a hunk's header says.
struct Ranges {
    start: usize,
    old: usize,
    new: usize,
}

/// `@@ -start,count +start,count @@`
fn ranges(header: &str) -> Option<Ranges> {
    let rest = header.strip_prefix("@@ -")?;
    let (ranges, _) = rest.split_once(" @@")?;
    let (old, new) = ranges.split_once(" +")?;
    let range = |text: &str| match text.split_once(',') {
        Some((start, count)) => Some((start.parse().ok()?, count.parse().ok()?)),
        None => Some((text.parse().ok()?, 1)),
    };
    let ((start, old), (_, new)): ((usize, usize), (usize, usize)) = (range(old)?, range(new)?);
    // An empty range stands after its line.
    let start = if old == 0 { start.checked_add(1)? } else { start };
    Some(Ranges { start, old, new })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::unified::{FilePatch, parse};

    fn one(patch: &str) -> FilePatch {
        let mut files = parse(patch, None).unwrap();
        assert_eq!(files.len(), 1, "{files:?}");
        files.remove(0)
    }

    #[test]
    fn a_removed_line_that_looks_like_a_header_is_a_removed_line() {
        let file = one("--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n--- old\n+++ new\n c\n");
        assert_eq!(file.hunks[0].lines[0], Line { sign: Sign::Removed, text: "-- old\n".into() });
        assert_eq!(file.hunks[0].lines.len(), 3);
    }

    fn refusal(hunks: &str) -> String {
        parse(&format!("--- a/x\n+++ b/x\n{hunks}"), None).unwrap_err().public.into_owned()
    }

    #[test]
    fn more_lines_than_the_header_says_are_counted_again() {
        let file = one("--- a/x\n+++ b/x\n@@ -1,1 +1,1 @@\n a\n-b\n+c\n@@ -9 +9 @@\n-d\n+e\n");
        assert_eq!((file.hunks[0].lines.len(), file.hunks[1].lines.len()), (3, 2));
        let file = one("--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n a\n-b\n+c\n+d\n\n\n");
        assert_eq!(file.hunks[0].lines.len(), 5, "the blank line that was counted, and not the other");
    }

    #[test]
    fn a_hunk_that_is_cut_off_is_refused_with_its_counts() {
        let error = refusal("@@ -1,6 +1,7 @@\n 1\n-2\n-3\n");
        assert!(error.contains("line 3") && error.contains("cut off"), "{error}");
        assert!(error.contains("6 old and 7 new lines, and there are 3 and 1 where the patch ends"), "{error}");
        let error = refusal("@@ -1,9 +1,9 @@\n a\n-b\n+c\n\n");
        assert!(error.contains("there are 3 and 3 where"), "{error}");
        for next in ["@@ -9 +9 @@\n-d\n+e\n", "--- a/y\n+++ b/y\n@@ -1 +1 @@\n-d\n+e\n", "diff --git a/y b/y\n"] {
            let error = refusal(&format!("@@ -1,4 +1,4 @@\n a\n-b\n+c\n{next}"));
            assert!(error.contains("cut off") && error.contains("there are 2 and 2 before line 7"), "{error}");
        }
        let error = refusal("@@ -1,3 +1,3 @@\n a\n-b\n+c\nd\n");
        assert!(error.contains(r#"line 7 of the patch, "d""#), "{error}");
    }

    #[test]
    fn a_line_of_a_hunk_without_its_sign_does_not_hide_those_after_it() {
        for header in ["@@ fn f() {", "@@ -1,1 +1,1 @@"] {
            let error = refusal(&format!("{header}\n a\n-b\n+c\nd\n-e\n+f\n"));
            assert!(error.contains("at its line 8") && error.contains("line 7 of the patch has no space"), "{error}");
        }
        let fenced = one("```diff\n--- a/x\n+++ b/x\n@@\n-b\n+c\n```\n");
        assert_eq!(fenced.hunks[0].lines.len(), 2);
    }

    #[test]
    fn a_letter_around_a_patch_is_not_part_of_it() {
        let file = one("Subject: x\n\n---\n x | 2 +-\n\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n-- \n2.40\n");
        assert_eq!(file.hunks[0].lines.len(), 2);
    }

    #[test]
    fn a_missing_newline_is_missing_from_the_line() {
        let file = one("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n");
        assert_eq!((file.hunks[0].lines[0].text.as_str(), file.hunks[0].lines[1].text.as_str()), ("a", "a\n"));
    }
}
