//! The text of a patch, read line by line.

use mainstay_core::Error;

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
