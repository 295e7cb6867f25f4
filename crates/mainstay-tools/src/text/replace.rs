//! Exact text replacement, with error messages that help to correct a text that does not match.

use mainstay_core::{Error, Result};
use memchr::memmem;

use crate::text::line::{quote, split_lines};

/// How many lines an error message lists.
const MAX_LISTED: usize = 20;

/// How many lines are searched for something similar to the text that was not found.
const MAX_SCANNED_LINES: usize = 100_000;

/// One replacement.
#[derive(Debug, Clone, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Edit {
    /// Text to replace, exactly as in the file. Must occur exactly once unless `all` is set.
    pub(crate) old: String,
    /// New text.
    pub(crate) new: String,
    /// Replace every occurrence.
    #[serde(default)]
    pub(crate) all: bool,
}

/// Applies the edits one after the other. Returns the new content and the number of replacements.
pub(crate) fn replace(path: &str, mut content: Vec<u8>, edits: &[Edit]) -> Result<(Vec<u8>, u64)> {
    let mut replaced = 0;
    for (number, edit) in edits.iter().enumerate() {
        let field = format!("edits/{number}/old");
        if edit.old.is_empty() {
            return Err(Error::field(&field, "old is empty; use files_append or files_write to add text."));
        }
        if edit.old == edit.new {
            return Err(Error::field(&field, "old and new are the same; remove this edit."));
        }
        let found = occurrences(&content, edit.old.as_bytes());
        if found.is_empty() {
            return Err(Error::field(&field, not_found(path, &content, &edit.old)));
        }
        if found.len() > 1 && !edit.all {
            return Err(Error::field(&field, ambiguous(path, &content, &found)));
        }
        let (after, count) = replace_all(&content, edit);
        content = after;
        replaced += count;
    }
    Ok((content, replaced))
}

/// The offsets of the text, up to one more than an error lists. Overlapping occurrences count as two, because either may
/// be meant.
fn occurrences(content: &[u8], text: &[u8]) -> Vec<usize> {
    let finder = memmem::Finder::new(text);
    let mut found: Vec<usize> = Vec::new();
    while found.len() <= MAX_LISTED {
        let from = found.last().map_or(0, |last| last + 1);
        let Some(at) = finder.find(&content[from..]) else { break };
        found.push(from + at);
    }
    found
}

/// Replaces every occurrence, from left to right and without overlaps.
fn replace_all(content: &[u8], edit: &Edit) -> (Vec<u8>, u64) {
    let mut out = Vec::with_capacity(content.len() + edit.new.len());
    let (mut done, mut count) = (0, 0);
    for at in memmem::find_iter(content, &edit.old) {
        out.extend_from_slice(&content[done..at]);
        out.extend_from_slice(edit.new.as_bytes());
        done = at + edit.old.len();
        count += 1;
    }
    out.extend_from_slice(&content[done..]);
    (out, count)
}

/// The error message for a text that occurs several times.
fn ambiguous(path: &str, content: &[u8], found: &[usize]) -> String {
    let shown: Vec<String> = found.iter().take(MAX_LISTED).map(|at| line_number(content, *at).to_string()).collect();
    let (count, more) = if found.len() > MAX_LISTED {
        (format!("more than {MAX_LISTED}"), ", …")
    } else {
        (found.len().to_string(), "")
    };
    format!(
        "old occurs {count} times in {path}, at lines {}{more}; add surrounding lines to make it unique, or set all.",
        shown.join(", ")
    )
}

fn line_number(content: &[u8], at: usize) -> usize {
    memchr::memchr_iter(b'\n', &content[..at]).count() + 1
}

/// The error message for a text that is not in the file, with the most specific hint that applies.
fn not_found(path: &str, content: &[u8], old: &str) -> String {
    // From the most likely mistake to the vaguest.
    let hint = line_ending_hint(content, old)
        .or_else(|| whitespace_hint(content, old))
        .or_else(|| closest_line_hint(content, old))
        .unwrap_or_else(|| "Read the file again.".to_owned());
    format!("old does not occur in {path}. {hint}")
}

/// The text with the other line endings, if that is in the file.
fn line_ending_hint(content: &[u8], old: &str) -> Option<String> {
    let unix = old.replace("\r\n", "\n");
    let (name, other) = if unix == old { ("CRLF", unix.replace('\n', "\r\n")) } else { ("LF", unix) };
    let at = memmem::find(content, other.as_bytes()).filter(|_| other != old)?;
    Some(format!(
        "The same text occurs with {name} line endings at line {}; use those in old and new.",
        line_number(content, at)
    ))
}

/// The lines of the file that have the same words, if only the whitespace differs.
fn whitespace_hint(content: &[u8], old: &str) -> Option<String> {
    let wanted: Vec<Vec<&[u8]>> = split_lines(old.as_bytes()).map(words).collect();
    let wanted = trim_blank_lines(&wanted);
    // Bounded, because this runs only to improve an error message.
    let there: Vec<&[u8]> = split_lines(content).take(MAX_SCANNED_LINES).collect();
    let split: Vec<Vec<&[u8]>> = there.iter().map(|line| words(line)).collect();
    if wanted.is_empty() {
        return None;
    }
    let at = split.windows(wanted.len()).position(|window| window == wanted)?;
    let shown: Vec<String> = there[at..at + wanted.len()].iter().take(MAX_LISTED).map(|line| quote(line)).collect();
    let (first, last) = (at + 1, at + wanted.len());
    Some(format!("The same text occurs with different whitespace at lines {first} to {last}: {}", shown.join(" ⏎ ")))
}

fn words(line: &[u8]) -> Vec<&[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).collect()
}

/// The lines without blank ones at the beginning and the end.
fn trim_blank_lines<'a, 'b>(lines: &'a [Vec<&'b [u8]>]) -> &'a [Vec<&'b [u8]>] {
    let Some(first) = lines.iter().position(|line| !line.is_empty()) else { return &[] };
    let last = lines.iter().rposition(|line| !line.is_empty()).unwrap_or(first);
    &lines[first..=last]
}

/// The line of the file that is most similar to the first line of the text.
fn closest_line_hint(content: &[u8], old: &str) -> Option<String> {
    let wanted = old.lines().map(str::trim).find(|line| !line.is_empty())?.as_bytes();
    let scored = split_lines(content)
        .take(MAX_SCANNED_LINES)
        .enumerate()
        .map(|(at, line)| (similarity(wanted, line.trim_ascii()), at));
    let (score, at) = scored.max_by_key(|(score, at)| (*score, std::cmp::Reverse(*at)))?;
    let line = split_lines(content).nth(at)?;
    // With less than half of it in common, the similarity is accidental.
    (score * 2 >= wanted.len()).then(|| format!("The closest line is {}: {}", at + 1, quote(line)))
}

/// How many bytes two lines have in common at their beginning and end, less half of what the file's line is longer.
fn similarity(wanted: &[u8], line: &[u8]) -> usize {
    let head = wanted.iter().zip(line).take_while(|(a, b)| a == b).count();
    let (wanted_rest, line_rest) = (&wanted[head..], &line[head..]);
    let tail = wanted_rest.iter().rev().zip(line_rest.iter().rev()).take_while(|(a, b)| a == b).count();
    (head + tail).saturating_sub(line.len().saturating_sub(wanted.len()) / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(old: &str, new: &str) -> Edit {
        Edit { old: old.to_owned(), new: new.to_owned(), all: false }
    }

    fn error_message(content: &str, old: &str) -> String {
        replace("x", content.into(), &[edit(old, "new")]).unwrap_err().public.into_owned()
    }

    #[test]
    fn each_edit_applies_to_the_result_of_those_before() {
        let (content, replaced) = replace("x", b"a".to_vec(), &[edit("a", "bb"), edit("bb", "c")]).unwrap();
        assert_eq!((content.as_slice(), replaced), (&b"c"[..], 2));
    }

    #[test]
    fn several_occurrences_are_rejected_by_line_unless_all_is_set() {
        let reason = error_message("a\nb\na\n", "a");
        assert!(reason.contains("2 times") && reason.contains("lines 1, 3;"), "{reason}");
        let all = Edit { all: true, ..edit("a", "c") };
        assert_eq!(replace("x", b"a\nb\na\n".to_vec(), &[all]).unwrap(), (b"c\nb\nc\n".to_vec(), 2));
    }

    #[test]
    fn overlapping_occurrences_count_as_several() {
        assert!(error_message("}}}", "}}").contains("2 times in x, at lines 1, 1;"));
    }

    #[test]
    fn an_error_names_different_line_endings() {
        let reason = error_message("x\r\na\r\nb\r\n", "a\nb");
        assert!(reason.contains("CRLF line endings at line 2"), "{reason}");
        assert!(error_message("a\nb\n", "a\r\nb").contains("LF line endings at line 1"));
    }

    #[test]
    fn an_error_names_different_indentation() {
        let reason = error_message("fn a() {\n\tone();\n\ttwo();\n}\n", "    one();\n    two();\n");
        assert!(reason.contains("at lines 2 to 3") && reason.contains(r#""\tone();""#), "{reason}");
    }

    #[test]
    fn an_error_names_the_closest_line() {
        let reason = error_message("first\nlet total = price * count;\n", "let total = price * amount;");
        assert!(reason.contains("closest line is 2") && reason.contains("price * count"), "{reason}");
        assert!(!error_message("first\n", "something else entirely").contains("closest"));
    }

    #[test]
    fn an_empty_text_and_an_edit_without_effect_are_rejected() {
        assert!(error_message("a", "").contains("empty"));
        assert!(error_message("new", "new").contains("the same"));
    }

    #[test]
    fn bytes_that_are_not_utf8_are_kept() {
        let (content, _) = replace("x", b"\xff\xfe a \x00".to_vec(), &[edit("a", "b")]).unwrap();
        assert_eq!(content, b"\xff\xfe b \x00");
    }
}
