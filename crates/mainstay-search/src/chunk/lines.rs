//! The lines of a source, and what they say about it.

use std::borrow::Cow;

/// How much of a file is looked at to tell text from other data.
const LOOKED_AT: usize = 8 * 1024;

/// Lines this long are made by programs.
const LONG_LINE: usize = 1000;

/// A chunk is never longer, even if one line is.
/// Twice the target of `split`, so that a good place a little too far away can still be taken.
pub(super) const MOST_BYTES: usize = 4000;

/// A source with its lines. Rows count from 0.
#[derive(Clone, Copy)]
pub(super) struct Lines<'a> {
    pub(super) source: &'a [u8],
    pub(super) starts: &'a [u32],
    /// Whether only the beginnings of its long lines are worth a chunk.
    pub(super) is_minified: bool,
}

impl<'a> Lines<'a> {
    pub(super) fn new(source: &'a [u8], starts: &'a [u32], is_minified: bool) -> Self {
        Self { source, starts, is_minified }
    }

    pub(super) fn count(self) -> u32 {
        u32::try_from(self.starts.len()).unwrap_or(u32::MAX)
    }

    pub(super) fn start(self, row: u32) -> u32 {
        self.starts.get(row as usize).copied().unwrap_or_else(|| self.length())
    }

    /// The end of a line, without what ends it.
    pub(super) fn end(self, row: u32) -> u32 {
        let (start, mut end) = (self.start(row) as usize, self.start(row + 1) as usize);
        while end > start && matches!(self.source.get(end - 1), Some(b'\n' | b'\r')) {
            end -= 1;
        }
        u32::try_from(end).unwrap_or(u32::MAX)
    }

    pub(super) fn text(self, row: u32) -> &'a [u8] {
        self.source.get(self.start(row) as usize..self.end(row) as usize).unwrap_or_default()
    }

    /// The bytes of the rows from one up to another, which is not included.
    pub(super) fn bytes(self, first: u32, end: u32) -> usize {
        if end <= first { 0 } else { (self.end(end - 1).saturating_sub(self.start(first))) as usize }
    }

    pub(super) fn is_blank(self, row: u32) -> bool {
        self.text(row).iter().all(u8::is_ascii_whitespace)
    }

    /// A line that says nothing by itself: closing brackets, `end`, `#endif`.
    pub(super) fn is_closing(self, row: u32) -> bool {
        let text = self.text(row).trim_ascii();
        let is_word = |word: &[u8]| matches!(word, b"end" | b"fi" | b"done" | b"esac" | b"#endif");
        text.iter().all(|byte| b"{}()[];,".contains(byte))
            || is_word(text.split(u8::is_ascii_whitespace).next().unwrap_or_default())
    }

    /// The rows without blank ones at both ends; `None` if all are blank.
    pub(super) fn trim(self, mut first: u32, mut end: u32) -> Option<(u32, u32)> {
        while first < end && self.is_blank(first) {
            first += 1;
        }
        while end > first && self.is_blank(end - 1) {
            end -= 1;
        }
        (first < end).then_some((first, end))
    }

    fn length(self) -> u32 {
        u32::try_from(self.source.len()).unwrap_or(u32::MAX)
    }
}

/// Text has no NUL, and few other control characters.
pub(super) fn is_binary(source: &[u8]) -> bool {
    let looked_at = source.get(..LOOKED_AT).unwrap_or(source);
    // Not among them: tab, line breaks, form feed, and the escape character that begins colours in logs.
    let is_control = |byte: &&u8| matches!(**byte, 0x01..=0x08 | 0x0E..=0x1A | 0x1C..=0x1F | 0x7F);
    source.contains(&0) || looked_at.iter().filter(is_control).count() * 10 > looked_at.len()
}

/// The source with every byte that is not UTF-8 replaced by another single byte, so that offsets stay the same.
pub(super) fn with_valid_utf8(source: &[u8]) -> Cow<'_, [u8]> {
    let Err(error) = std::str::from_utf8(source) else { return Cow::Borrowed(source) };
    let mut text = source.to_vec();
    let (mut start, mut valid, mut invalid) = (0, error.valid_up_to(), error.error_len());
    loop {
        let end = invalid.map_or(text.len(), |length| start + valid + length);
        text[start + valid..end].fill(b'?');
        start = end;
        match std::str::from_utf8(&source[start..]) {
            Ok(_) => return Cow::Owned(text),
            Err(error) => (valid, invalid) = (error.valid_up_to(), error.error_len()),
        }
    }
}

/// Whether most of a file is in lines that nobody wrote.
pub(super) fn is_minified(source: &[u8], starts: &[u32]) -> bool {
    let ends = starts.iter().skip(1).map(|start| *start as usize).chain([source.len()]);
    let lengths = starts.iter().zip(ends).map(|(start, end)| end - *start as usize);
    lengths.filter(|length| *length > LONG_LINE).sum::<usize>() * 2 > source.len()
}
