//! What is text and what is not, and how much of a line is shown.

use base64::Engine as _;
use mainstay_core::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The most bytes of one line that are shown.
pub(crate) const LONGEST_LINE: usize = 2000;

/// How content travels in JSON.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub(crate) enum Encoding {
    #[default]
    #[serde(rename = "utf-8")]
    Utf8,
    #[serde(rename = "base64")]
    Base64,
}

pub(crate) fn base64(bytes: &[u8]) -> String {
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

/// A whole file as text. The bytes are not copied.
pub(crate) fn whole(bytes: Vec<u8>, shown: &str) -> Result<String> {
    String::from_utf8(bytes).map_err(|error| not_text(shown, error.utf8_error().valid_up_to() as u64))
}

/// A part of a file as text: a character that its end cuts is left out, so that the next part can begin with it.
/// `ends` says that the file ends where the part does.
pub(crate) fn part(bytes: Vec<u8>, offset: u64, ends: bool, shown: &str) -> Result<String> {
    let error = match String::from_utf8(bytes) {
        Ok(text) => return Ok(text),
        Err(error) => error,
    };
    let valid = error.utf8_error().valid_up_to();
    let begins_inside = valid == 0 && offset > 0 && error.as_bytes().first().is_some_and(|byte| byte & 0xc0 == 0x80);
    if begins_inside {
        let reason = format!(
            "The byte at offset {offset} of {shown} is inside a character; begin up to 3 bytes earlier, or use base64."
        );
        return Err(Error::field("offset", reason));
    }
    if error.utf8_error().error_len().is_some() || ends {
        return Err(not_text(shown, offset + valid as u64));
    }
    if valid == 0 {
        let reason = format!(
            "The part of {shown} from offset {offset} on ends inside its first character; ask for a greater length."
        );
        return Err(Error::field("offset", reason));
    }
    let mut bytes = error.into_bytes();
    bytes.truncate(valid);
    whole(bytes, shown)
}

fn not_text(shown: &str, at: u64) -> Error {
    Error::field("encoding", format!("{shown} is not UTF-8 text (its byte {at} is not); use base64."))
}

/// A line as it is shown.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Shown {
    pub(crate) text: String,
    /// Bytes that are not UTF-8 are shown as U+FFFD.
    pub(crate) lossy: bool,
    /// Not all of it is shown.
    pub(crate) cut: bool,
}

/// The first bytes of a line, or all of it.
pub(crate) fn line(bytes: &[u8]) -> Shown {
    let kept = &bytes[..boundary(bytes, LONGEST_LINE.min(bytes.len()))];
    shown(kept, kept.len() < bytes.len())
}

/// A long line around the place that matters, which begins at `at`.
pub(crate) fn around(bytes: &[u8], at: usize) -> Shown {
    let before = LONGEST_LINE / 4;
    if bytes.len() <= LONGEST_LINE || at <= before {
        return line(bytes);
    }
    let start = boundary(bytes, at - before);
    let end = boundary(bytes, (start + LONGEST_LINE).min(bytes.len()));
    shown(&bytes[start..end], true)
}

fn shown(bytes: &[u8], cut: bool) -> Shown {
    match String::from_utf8_lossy(bytes) {
        std::borrow::Cow::Borrowed(text) => Shown { text: text.to_owned(), lossy: false, cut },
        std::borrow::Cow::Owned(text) => Shown { text, lossy: true, cut },
    }
}

/// The nearest place at or before `at` where a character begins.
fn boundary(bytes: &[u8], at: usize) -> usize {
    let inside = |at: &usize| bytes.get(*at).is_some_and(|byte| byte & 0xc0 == 0x80);
    (at.saturating_sub(3)..=at).rev().find(|at| !inside(at)).unwrap_or(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_leaves_out_the_character_its_end_cuts() {
        let bytes = "aä€".as_bytes();
        assert_eq!(part(bytes[..2].to_vec(), 0, false, "f").unwrap(), "a");
        assert_eq!(part(bytes[..5].to_vec(), 0, false, "f").unwrap(), "aä");
        assert_eq!(part(bytes[1..].to_vec(), 1, true, "f").unwrap(), "ä€");
    }

    #[test]
    fn a_part_that_begins_or_ends_inside_its_only_character_names_the_offset() {
        let bytes = "aä€".as_bytes();
        for (from, to) in [(2, 6), (3, 4), (4, 6), (5, 6)] {
            let error = part(bytes[from..to].to_vec(), from as u64, to == 6, "f").unwrap_err();
            assert_eq!(error.field_name().unwrap(), "offset", "{from}..{to}");
        }
    }

    #[test]
    fn bytes_that_are_no_text_name_base64_and_where() {
        for error in [whole(vec![b'a', 0xff], "f").unwrap_err(), part(vec![b'a', 0xe2], 0, true, "f").unwrap_err()] {
            assert!(error.public.contains("base64") && error.public.contains("byte 1"), "{error}");
        }
    }

    #[test]
    fn a_long_line_is_cut_between_characters() {
        let long = "ä".repeat(LONGEST_LINE);
        let shown = line(format!("x{long}").as_bytes());
        assert!(shown.cut && !shown.lossy);
        assert_eq!(shown.text.len(), LONGEST_LINE - 1);
        let end = around(long.as_bytes(), long.len() - 2);
        assert!(end.cut && !end.lossy && end.text.len() <= LONGEST_LINE);
    }

    #[test]
    fn a_short_line_is_whole_and_says_when_it_is_no_text() {
        assert_eq!(line(b"abc"), Shown { text: "abc".into(), lossy: false, cut: false });
        assert!(line(b"a\xff").lossy);
    }
}
