//! A patch: its text, read line by line, and what it says, whatever its format.

use mainstay_core::Error;

/// What a patch does to one file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct FilePatch {
    /// The path before; `None` if the file is new.
    pub(crate) old: Option<String>,
    /// The path after; `None` if the file is removed.
    pub(crate) new: Option<String>,
    /// The patch says that the file is renamed or copied. Without this, two different names are two candidates for one
    /// file, as `diff -u` writes them.
    pub(crate) renames: bool,
    /// The old file stays: this is a copy and not a rename.
    pub(crate) copies: bool,
    /// The patch removes the file without showing its content, so the content cannot be checked.
    pub(crate) content_unknown: bool,
    /// The permission bits that the patch sets.
    pub(crate) mode: Option<u32>,
    pub(crate) hunks: Vec<Hunk>,
}

/// A run of lines that are kept, removed or added.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Hunk {
    /// The line of the old file it begins at, from 1, if the patch says so.
    pub(crate) start: Option<usize>,
    /// A line of the file that comes somewhere before it.
    pub(crate) anchor: Option<String>,
    pub(crate) lines: Vec<Line>,
    /// The format cannot say that the last line of a file has no newline: the file keeps the end it has.
    pub(crate) keeps_file_end: bool,
    /// Its line in the patch, for error messages.
    pub(crate) at: usize,
}

/// A line with its line ending.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) sign: Sign,
    pub(crate) text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sign {
    Context,
    Removed,
    Added,
}

impl Line {
    /// Whether the line is in the old file.
    pub(crate) fn is_old(&self) -> bool {
        self.sign != Sign::Added
    }

    /// Whether the line is in the new file.
    pub(crate) fn is_new(&self) -> bool {
        self.sign != Sign::Removed
    }
}

/// A position in the lines of a patch. The parsers of the formats add their methods to it.
pub(crate) struct Reader<'a> {
    /// The lines with their line endings.
    pub(crate) lines: Vec<&'a str>,
    /// The index of the line that is read next.
    pub(crate) at: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(patch: &'a str) -> Self {
        Self { lines: patch.split_inclusive('\n').collect(), at: 0 }
    }

    /// The next line, without its line ending.
    pub(crate) fn peek(&self) -> Option<&'a str> {
        self.lines.get(self.at).map(|line| line.trim_end_matches(['\n', '\r']))
    }

    /// The next line, with its line ending.
    pub(crate) fn peek_with_ending(&self) -> Option<&'a str> {
        self.lines.get(self.at).copied()
    }

    pub(crate) fn advance(&mut self) {
        self.at += 1;
    }

    /// The number of the next line, from 1.
    pub(crate) fn line_number(&self) -> usize {
        self.at + 1
    }

    /// The error for the next line.
    pub(crate) fn error(&self, reason: &str) -> Error {
        parse_error(self.line_number(), reason)
    }

    /// Skips everything up to and including a line.
    pub(crate) fn skip_past(&mut self, line: &str) {
        while self.peek().is_some_and(|here| here.trim_end() != line) {
            self.advance();
        }
        self.advance();
    }

    /// Whether the `---` and `+++` lines of a file come next.
    pub(crate) fn at_file_header(&self) -> bool {
        self.is_file_header(self.at)
    }

    pub(crate) fn is_file_header(&self, at: usize) -> bool {
        let starts = |at: usize, with: &str| self.lines.get(at).is_some_and(|line| line.starts_with(with));
        starts(at, "--- ") && starts(at + 1, "+++ ")
    }
}

/// The error for a patch that cannot be parsed; `line` is 0 if it is about no line in particular.
pub(crate) fn parse_error(line: usize, reason: &str) -> Error {
    let place = if line == 0 { String::new() } else { format!(" at line {line}") };
    Error::field("patch", format!("The patch cannot be parsed{place}: {reason}."))
}
