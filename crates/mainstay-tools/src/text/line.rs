//! Lines of text: splitting content into them, and showing one within a limit.

use std::borrow::Cow;

/// The most bytes of one line that are shown.
pub(crate) const MAX_LINE_BYTES: usize = 2000;

/// The lines of a text as a diff has them: each with its line ending, and only a line feed ends one.
pub(crate) fn split_lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split_inclusive(|byte| *byte == b'\n')
}

/// A line in quotes, for an error message.
pub(crate) fn quote(line: &[u8]) -> String {
    const MAX_CHARS: usize = 160;
    let text = String::from_utf8_lossy(line);
    let text = text.trim_end_matches('\n');
    let cut: String = text.chars().take(MAX_CHARS).collect();
    if cut.len() < text.len() { format!("{cut:?}…") } else { format!("{cut:?}") }
}

/// A line as a result shows it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct DisplayedLine {
    pub(crate) text: String,
    /// Bytes that are not UTF-8 are shown as U+FFFD.
    pub(crate) lossy: bool,
    /// The line is longer than what is shown.
    pub(crate) cut: bool,
}

/// The beginning of a line, up to the limit.
pub(crate) fn display(bytes: &[u8]) -> DisplayedLine {
    let kept = &bytes[..char_boundary(bytes, MAX_LINE_BYTES.min(bytes.len()))];
    decode(kept, kept.len() < bytes.len())
}

/// The part of a line around the offset `at`, such as the start of a match, up to the limit.
pub(crate) fn display_around(bytes: &[u8], at: usize) -> DisplayedLine {
    let before = MAX_LINE_BYTES / 4;
    if bytes.len() <= MAX_LINE_BYTES || at <= before {
        return display(bytes);
    }
    let start = char_boundary(bytes, at - before);
    let end = char_boundary(bytes, (start + MAX_LINE_BYTES).min(bytes.len()));
    decode(&bytes[start..end], true)
}

fn decode(bytes: &[u8], cut: bool) -> DisplayedLine {
    match String::from_utf8_lossy(bytes) {
        Cow::Borrowed(text) => DisplayedLine { text: text.to_owned(), lossy: false, cut },
        Cow::Owned(text) => DisplayedLine { text, lossy: true, cut },
    }
}

/// The nearest offset at or before `at` where a UTF-8 character begins.
fn char_boundary(bytes: &[u8], at: usize) -> usize {
    let is_continuation = |at: &usize| bytes.get(*at).is_some_and(|byte| byte & 0xc0 == 0x80);
    (at.saturating_sub(3)..=at).rev().find(|at| !is_continuation(at)).unwrap_or(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_cut_between_characters() {
        let long = "ä".repeat(MAX_LINE_BYTES);
        let shown = display(format!("x{long}").as_bytes());
        assert!(shown.cut && !shown.lossy);
        assert_eq!(shown.text.len(), MAX_LINE_BYTES - 1);
        let end = display_around(long.as_bytes(), long.len() - 2);
        assert!(end.cut && !end.lossy && end.text.len() <= MAX_LINE_BYTES);
    }

    #[test]
    fn a_short_line_is_complete_and_marked_if_it_is_not_utf8() {
        assert_eq!(display(b"abc"), DisplayedLine { text: "abc".into(), lossy: false, cut: false });
        assert!(display(b"a\xff").lossy);
    }
}
