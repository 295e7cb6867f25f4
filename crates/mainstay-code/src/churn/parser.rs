//! Reads the output of git as it arrives. Nothing is allocated for a line: a path is only kept if it is new.
//!
//! With `-z`, everything ends with a NUL byte, so names may contain any other one. A commit is its header; the first of
//! its changes begins with a newline. A change is `added TAB deleted TAB path`, with dashes for a binary file; if the
//! path is empty, the old and the new path of a renamed file follow.

use super::history::{Change, History, TooManyFiles};

/// Longer than any path or name that git accepts on a file system: what is longer is not from git.
const MAX_TOKEN_BYTES: usize = 1024 * 1024;

/// The byte that a commit's header begins with.
const HEADER: u8 = 2;

/// Why the output of git could not be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// The first bytes of what was not understood.
    #[error("the output of git has an unexpected form near {0:?}")]
    Unexpected(String),
    #[error("the output of git ends in the middle of a change")]
    Incomplete,
    #[error(transparent)]
    TooManyFiles(#[from] TooManyFiles),
}

/// Takes the output of git in pieces of any size.
#[derive(Debug, Default)]
pub struct LogParser {
    history: History,
    /// The beginning of a token whose end has not arrived yet.
    partial: Vec<u8>,
    expected: Expected,
    /// The old path of a renamed file, until its new one arrives.
    old_path: Vec<u8>,
}

/// What the next token is.
#[derive(Debug, Clone, Copy, Default)]
enum Expected {
    #[default]
    HeaderOrChange,
    OldPath(Change),
    NewPath(Change),
}

impl LogParser {
    pub fn push(&mut self, mut bytes: &[u8]) -> Result<(), ParseError> {
        if !self.partial.is_empty() {
            let end = memchr::memchr(0, bytes);
            self.partial.extend_from_slice(&bytes[..end.unwrap_or(bytes.len())]);
            let Some(end) = end else { return self.check_partial() };
            bytes = &bytes[end + 1..];
            let token = std::mem::take(&mut self.partial);
            self.token(&token)?;
            // Its memory serves the next one.
            self.partial = token;
            self.partial.clear();
        }
        let mut start = 0;
        for end in memchr::memchr_iter(0, bytes) {
            self.token(&bytes[start..end])?;
            start = end + 1;
        }
        self.partial.extend_from_slice(&bytes[start..]);
        self.check_partial()
    }

    /// The number of commits so far.
    pub fn commits(&self) -> u64 {
        self.history.commits()
    }

    /// The history, when all of the output has been taken.
    pub fn finish(mut self) -> Result<History, ParseError> {
        if !self.partial.is_empty() || !matches!(self.expected, Expected::HeaderOrChange) {
            return Err(ParseError::Incomplete);
        }
        self.history.end_commit();
        Ok(self.history)
    }

    fn check_partial(&self) -> Result<(), ParseError> {
        if self.partial.len() > MAX_TOKEN_BYTES { Err(unexpected(&self.partial)) } else { Ok(()) }
    }

    fn token(&mut self, token: &[u8]) -> Result<(), ParseError> {
        match std::mem::take(&mut self.expected) {
            Expected::HeaderOrChange => {}
            Expected::OldPath(change) => {
                self.old_path.clear();
                self.old_path.extend_from_slice(token);
                self.expected = Expected::NewPath(change);
                return Ok(());
            }
            Expected::NewPath(change) => return Ok(self.history.rename(&self.old_path, token, change)?),
        }
        match token {
            [HEADER, header @ ..] => self.header(header),
            // A commit without changes ends with nothing.
            [] => Ok(()),
            change => self.change(change.strip_prefix(b"\n").unwrap_or(change)),
        }
    }

    fn header(&mut self, header: &[u8]) -> Result<(), ParseError> {
        let (time, author) = number_before(header, b' ').ok_or_else(|| unexpected(header))?;
        let time = i64::try_from(time).map_err(|_| unexpected(header))?;
        self.history.begin_commit(time, author);
        Ok(())
    }

    fn change(&mut self, line: &[u8]) -> Result<(), ParseError> {
        // Dashes instead of numbers: a binary file, in which there are no lines.
        let (change, path) = if let Some(path) = line.strip_prefix(b"-\t-\t") {
            (Change::default(), path)
        } else {
            let (added, rest) = number_before(line, b'\t').ok_or_else(|| unexpected(line))?;
            let (deleted, path) = number_before(rest, b'\t').ok_or_else(|| unexpected(line))?;
            (Change { added, deleted }, path)
        };
        if path.is_empty() {
            self.expected = Expected::OldPath(change);
            return Ok(());
        }
        Ok(self.history.change(path, change)?)
    }
}

/// A decimal number that ends with this byte, and what follows.
fn number_before(bytes: &[u8], end: u8) -> Option<(u64, &[u8])> {
    let mut number: u64 = 0;
    for (at, &byte) in bytes.iter().enumerate() {
        match byte {
            b'0'..=b'9' => number = number.checked_mul(10)?.checked_add(u64::from(byte - b'0'))?,
            _ if byte == end && at > 0 => return Some((number, &bytes[at + 1..])),
            _ => return None,
        }
    }
    None
}

fn unexpected(bytes: &[u8]) -> ParseError {
    let start = &bytes[..bytes.len().min(40)];
    ParseError::Unexpected(String::from_utf8_lossy(start).into_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::history::FileHistory;
    use super::*;

    /// Two commits: the newer one renames a file whose name has a tab and a newline in it and changes a binary one.
    const LOG: &[u8] = b"\x0220 Z\xc3\xbc \"<>\0\n0\t2\t\0a\0b\tc\n\"d\0-\t-\tbin\0\x0215 M\0\x0210 Y\0\n3\t1\ta\0";

    fn parsed(pieces: &[&[u8]]) -> Result<History, ParseError> {
        let mut parser = LogParser::default();
        for piece in pieces {
            parser.push(piece)?;
        }
        parser.finish()
    }

    fn told(history: &History) -> Vec<(String, u64, u64, u64)> {
        let files = history.files(&|_| true);
        files.iter().map(|file| (file.path.clone(), file.commits, file.additions, file.deletions)).collect()
    }

    #[test]
    fn the_history_of_a_renamed_file_counts_for_its_new_name() {
        let history = parsed(&[LOG]).unwrap();
        assert_eq!(told(&history), [("b\tc\n\"d".to_owned(), 2, 3, 3), ("bin".to_owned(), 1, 0, 0)]);
        assert_eq!(history.commits(), 3);
    }

    #[test]
    fn output_may_arrive_in_pieces_of_any_size() {
        let whole = told(&parsed(&[LOG]).unwrap());
        for size in 1..LOG.len() {
            let pieces: Vec<&[u8]> = LOG.chunks(size).collect();
            assert_eq!(told(&parsed(&pieces).unwrap()), whole, "{size}");
        }
    }

    #[test]
    fn what_is_not_from_git_is_an_error() {
        for text in [
            &b"hello\0"[..],
            b"\x02x Y\0",
            b"1\t2\0",
            b"1\tx\tpath\0",
            b"99999999999999999999\t0\tpath\0",
            b"\x0299999999999999999999 Y\0",
            b"\t\t\0",
        ] {
            assert!(matches!(parsed(&[text]), Err(ParseError::Unexpected(_))), "{text:?}");
        }
    }

    #[test]
    fn output_that_ends_too_early_is_an_error() {
        for text in [&b"\x0210 Y"[..], b"\x0210 Y\0\n1\t1\tpa", b"\x0210 Y\0\n1\t1\t\0old\0", b"\x0210 Y\0\n1\t1\t\0"] {
            assert_eq!(parsed(&[text]).unwrap_err(), ParseError::Incomplete, "{text:?}");
        }
    }

    #[test]
    fn a_name_without_an_end_is_not_kept_for_ever() {
        let mut parser = LogParser::default();
        let endless = vec![b'x'; 64 * 1024];
        let refused = (0..1000).find_map(|_| parser.push(&endless).err());
        assert!(matches!(refused, Some(ParseError::Unexpected(_))));
        assert!(parser.partial.len() < 2 * MAX_TOKEN_BYTES);
    }

    /// Tokens of a log in any order: most orders are nothing that git prints.
    fn log() -> impl Strategy<Value = Vec<u8>> {
        let token = prop_oneof![
            "\\x02[0-9]{1,12} [A-C]?".prop_map(String::into_bytes),
            "\n?[0-9]{1,3}\t[0-9]{1,3}\t[a-c]{0,2}".prop_map(String::into_bytes),
            "\n?-\t-\t[a-c]{0,2}".prop_map(String::into_bytes),
            proptest::collection::vec(any::<u8>(), 0..8),
        ];
        proptest::collection::vec(token, 0..40).prop_map(|tokens| tokens.join(&0))
    }

    proptest! {
        #[test]
        fn anything_is_parsed_or_refused_and_the_same_in_any_pieces(log in log(), size in 1_usize..20) {
            let whole = parsed(&[&log]).map(|history| told(&history));
            let pieces: Vec<&[u8]> = log.chunks(size).collect();
            prop_assert_eq!(parsed(&pieces).map(|history| told(&history)), whole);
        }

        #[test]
        fn no_line_is_lost_whatever_is_renamed(changes in proptest::collection::vec((0_u64..9, "[a-d]", "[a-d]"), 1..30)) {
            let mut log = Vec::new();
            for (lines, old, new) in &changes {
                let paths = if old == new { new.clone() } else { format!("\0{old}\0{new}") };
                log.extend(format!("\x0210 A\0\n{lines}\t1\t{paths}\0").into_bytes());
            }
            let history = parsed(&[&log]).unwrap();
            for exists in [true, false] {
                let files = history.files(&|_| exists);
                let sum = |figure: fn(&FileHistory) -> u64| files.iter().map(figure).sum::<u64>();
                prop_assert_eq!(sum(|file| file.additions), changes.iter().map(|(lines, ..)| lines).sum::<u64>());
                prop_assert_eq!(sum(|file| file.deletions), changes.len() as u64);
                prop_assert_eq!(sum(|file| file.commits), changes.len() as u64);
            }
        }
    }
}
