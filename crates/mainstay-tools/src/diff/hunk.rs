//! Parses one hunk of a unified diff.
//!
//! Models often miscount the lines of a hunk. More lines than the header says are accepted, because they still say what
//! is meant; fewer are an error, because the rest may be missing.

use mainstay_core::{Error, Result};

use crate::diff::patch::{Hunk, Line, Reader, Sign, parse_error};
use crate::text::line::quote;

impl Reader<'_> {
    /// Parses a hunk from its `@@` line on.
    pub(crate) fn hunk(&mut self) -> Result<Hunk> {
        let begins = self.line_number();
        let header = self.peek().unwrap_or_default();
        self.advance();
        let body = self.at;
        // `@@` without numbers, or with a line of the file as an anchor.
        let Some((start, declared)) = parse_ranges(header) else {
            let anchor = header.trim_matches('@').trim();
            let anchor = Some(anchor.to_owned()).filter(|anchor| !anchor.is_empty());
            let lines = self.lines_until_other(LineCount::default())?;
            self.check_no_stray_lines()?;
            return Ok(Hunk { anchor, lines, at: begins, ..Hunk::default() });
        };
        let lines = if let Some(lines) = self.lines_by_count(declared) {
            lines
        } else {
            // The header's counts are wrong: take the lines as they are.
            self.at = body;
            let lines = self.lines_until_other(declared)?;
            let found = LineCount::of(&lines);
            if found.old < declared.old || found.new < declared.new {
                return Err(self.truncated(begins, declared, found));
            }
            self.check_no_stray_lines()?;
            lines
        };
        Ok(Hunk { start: Some(start), lines, at: begins, ..Hunk::default() })
    }

    fn truncated(&self, begins: usize, declared: LineCount, found: LineCount) -> Error {
        // Names the line that ended the hunk, which is usually the one without a prefix.
        let end = match self.peek() {
            Some(line) => format!("before line {} of the patch, {}", self.line_number(), quote(line.as_bytes())),
            None => "where the patch ends".to_owned(),
        };
        let reason = format!(
            "this hunk is truncated: its header says {} old and {} new lines, but there are {} and {} {end}. Give all \
             its lines, each prefixed with a space, + or -, or correct the header",
            declared.old, declared.new, found.old, found.new
        );
        parse_error(begins, &reason)
    }

    /// Fails if lines follow that look like a part of the hunk. A hunk without a reliable count ends at the first line
    /// that is not a hunk line; what comes after that would be silently dropped.
    fn check_no_stray_lines(&self) -> Result<()> {
        let ends = self.lines[self.at.min(self.lines.len())..].iter().zip(self.at..);
        let mut rest = ends.take_while(|(line, at)| {
            !["diff ", "@@", "-- \n"].iter().any(|end| line.starts_with(end)) && !self.is_file_header(*at)
        });
        match rest.find(|(line, _)| line.starts_with(['+', '-'])) {
            Some((_, at)) => {
                let reason = format!(
                    "this line belongs to no hunk, because line {} of the patch is not prefixed with a space, + or -",
                    self.line_number()
                );
                Err(parse_error(at + 1, &reason))
            }
            None => Ok(()),
        }
    }

    /// As many lines as the header says; `None` if that is not how many there are.
    fn lines_by_count(&mut self, declared: LineCount) -> Option<Vec<Line>> {
        let LineCount { mut old, mut new } = declared;
        let mut lines = Vec::new();
        while old > 0 || new > 0 || self.at_newline_marker() {
            let counted = lines.len();
            self.read_line(&mut lines)?;
            if let Some(line) = lines.get(counted) {
                old = old.checked_sub(usize::from(line.is_old()))?;
                new = new.checked_sub(usize::from(line.is_new()))?;
            }
        }
        // `-- ` separates the signature of an e-mail that contains a patch.
        let is_line = |line: &str| line.starts_with([' ', '+', '-']) && line != "-- ";
        // Another hunk line after the counted ones: the counts are wrong.
        let more = self.peek().is_some_and(is_line) && !self.at_file_header();
        (!more).then_some(lines)
    }

    /// Reads one line into `lines`; `None` if the next one is none of a hunk.
    fn read_line(&mut self, lines: &mut Vec<Line>) -> Option<()> {
        if self.at_newline_marker() {
            lines.last_mut()?.text.pop();
        } else {
            lines.push(parse_line(self.peek_with_ending()?)?);
        }
        self.advance();
        Some(())
    }

    /// Whether `\ No newline at end of file` comes next, which is about the line before it.
    fn at_newline_marker(&self) -> bool {
        self.peek().is_some_and(|line| line.starts_with('\\'))
    }

    /// Lines for as long as they look like those of a hunk that has at least so many.
    pub(crate) fn lines_until_other(&mut self, least: LineCount) -> Result<Vec<Line>> {
        let mut lines = Vec::new();
        while !self.at_file_header() && self.read_line(&mut lines).is_some() {}
        if self.at_newline_marker() {
            return Err(self.error("no line comes before this one"));
        }
        let mut found = LineCount::of(&lines);
        // Blank lines after a hunk are not part of it.
        let blank = |line: &Line| line.sign == Sign::Context && line.text.trim().is_empty();
        while found.old > least.old && found.new > least.new && lines.last().is_some_and(blank) {
            lines.pop();
            found = LineCount { old: found.old - 1, new: found.new - 1 };
        }
        Ok(lines)
    }
}

/// How many lines of the old and of the new file a hunk has.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LineCount {
    old: usize,
    new: usize,
}

impl LineCount {
    fn of(lines: &[Line]) -> Self {
        let count = |is: fn(&Line) -> bool| lines.iter().filter(|line| is(line)).count();
        Self { old: count(Line::is_old), new: count(Line::is_new) }
    }
}

/// A line of a hunk. Some programs omit the space before an empty context line.
fn parse_line(line: &str) -> Option<Line> {
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

/// The first line and the counts in a hunk's header, `@@ -start,count +start,count @@`.
fn parse_ranges(header: &str) -> Option<(usize, LineCount)> {
    let rest = header.strip_prefix("@@ -")?;
    let (ranges, _) = rest.split_once(" @@")?;
    let (old, new) = ranges.split_once(" +")?;
    let range = |text: &str| match text.split_once(',') {
        Some((start, count)) => Some((start.parse().ok()?, count.parse().ok()?)),
        None => Some((text.parse().ok()?, 1)),
    };
    let ((start, old), (_, new)): ((usize, usize), (usize, usize)) = (range(old)?, range(new)?);
    // An empty range names the line before it.
    let start = if old == 0 { start.checked_add(1)? } else { start };
    Some((start, LineCount { old, new }))
}
