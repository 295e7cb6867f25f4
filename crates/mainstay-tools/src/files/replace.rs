//! Exact replacement, and what to say when the text is not there.

use mainstay_core::{Error, Result};
use memchr::memmem;
use schemars::JsonSchema;
use serde::Deserialize;

use super::diff::lines;

/// Lines that are named one by one.
const NAMED: usize = 20;

/// Lines that are looked at for something like the text that was not found.
const LOOKED_AT: usize = 100_000;

/// One replacement.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Edit {
    /// The text to replace, exactly as it is in the file: indentation and line endings too. It has to be there once,
    /// unless `all` is set.
    pub(super) old: String,
    /// The text to put in its place.
    pub(super) new: String,
    /// Replace every occurrence.
    #[serde(default)]
    pub(super) all: bool,
}

/// Applies the edits one after the other. Returns the new content and how often something was replaced.
pub(super) fn replace(path: &str, mut content: Vec<u8>, edits: &[Edit]) -> Result<(Vec<u8>, u64)> {
    let mut replaced = 0;
    for (number, edit) in edits.iter().enumerate() {
        let field = format!("edits/{number}/old");
        if edit.old.is_empty() {
            return Err(Error::field(&field, "The text to replace is empty; files_append and files_write add text."));
        }
        if edit.old == edit.new {
            return Err(Error::field(&field, "The old text and the new one are the same; leave this edit out."));
        }
        let found = occurrences(&content, edit.old.as_bytes());
        match found.as_slice() {
            [] => return Err(Error::field(&field, not_found(path, &content, &edit.old))),
            several if several.len() > 1 && !edit.all => {
                return Err(Error::field(&field, ambiguous(path, &content, several)));
            }
            _ => {}
        }
        let (after, count) = spliced(&content, edit);
        content = after;
        replaced += count;
    }
    Ok((content, replaced))
}

/// Where the text is, up to one more than can be named. Two that overlap are two: either may be meant.
fn occurrences(content: &[u8], text: &[u8]) -> Vec<usize> {
    let finder = memmem::Finder::new(text);
    let mut found: Vec<usize> = Vec::new();
    while found.len() <= NAMED {
        let from = found.last().map_or(0, |last| last + 1);
        let Some(at) = finder.find(&content[from..]) else { break };
        found.push(from + at);
    }
    found
}

fn spliced(content: &[u8], edit: &Edit) -> (Vec<u8>, u64) {
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

fn ambiguous(path: &str, content: &[u8], found: &[usize]) -> String {
    let shown: Vec<String> = found.iter().take(NAMED).map(|at| line_of(content, *at).to_string()).collect();
    let (count, more) =
        if found.len() > NAMED { (format!("more than {NAMED}"), ", …") } else { (found.len().to_string(), "") };
    format!(
        "The old text is in {path} {count} times, at lines {}{more}; add lines around it, or set all to replace every \
         one.",
        shown.join(", ")
    )
}

fn line_of(content: &[u8], at: usize) -> usize {
    memchr::memchr_iter(b'\n', &content[..at]).count() + 1
}

/// Why it may not have been found, as exactly as can be said.
fn not_found(path: &str, content: &[u8], old: &str) -> String {
    let hint = other_endings(content, old)
        .or_else(|| other_spaces(content, old))
        .or_else(|| closest(content, old))
        .unwrap_or_else(|| "Read the file again.".to_owned());
    format!("The old text is not in {path}. {hint}")
}

fn other_endings(content: &[u8], old: &str) -> Option<String> {
    let unix = old.replace("\r\n", "\n");
    let (name, other) = if unix == old { ("CRLF", unix.replace('\n', "\r\n")) } else { ("LF", unix) };
    let at = memmem::find(content, other.as_bytes()).filter(|_| other != old)?;
    Some(format!(
        "The same text is there with {name} line endings at line {}; write old and new with those.",
        line_of(content, at)
    ))
}

fn other_spaces(content: &[u8], old: &str) -> Option<String> {
    let wanted: Vec<Vec<&[u8]>> = lines(old.as_bytes()).map(words).collect();
    let wanted = trimmed(&wanted);
    let there: Vec<&[u8]> = lines(content).take(LOOKED_AT).collect();
    let split: Vec<Vec<&[u8]>> = there.iter().map(|line| words(line)).collect();
    if wanted.is_empty() {
        return None;
    }
    let at = split.windows(wanted.len()).position(|window| window == wanted)?;
    let shown: Vec<String> = there[at..at + wanted.len()].iter().take(NAMED).map(|line| quote(line)).collect();
    let (first, last) = (at + 1, at + wanted.len());
    Some(format!(
        "The same text is there with other indentation or spaces at lines {first} to {last}: {}",
        shown.join(" ⏎ ")
    ))
}

fn words(line: &[u8]) -> Vec<&[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).collect()
}

/// Without the blank lines at both ends.
fn trimmed<'a, 'b>(lines: &'a [Vec<&'b [u8]>]) -> &'a [Vec<&'b [u8]>] {
    let Some(first) = lines.iter().position(|line| !line.is_empty()) else { return &[] };
    let last = lines.iter().rposition(|line| !line.is_empty()).unwrap_or(first);
    &lines[first..=last]
}

fn closest(content: &[u8], old: &str) -> Option<String> {
    let wanted = old.lines().map(str::trim).find(|line| !line.is_empty())?.as_bytes();
    let scored = lines(content).take(LOOKED_AT).enumerate().map(|(at, line)| (likeness(wanted, line.trim_ascii()), at));
    let (score, at) = scored.max_by_key(|(score, at)| (*score, std::cmp::Reverse(*at)))?;
    let line = lines(content).nth(at)?;
    // Less than half of it in common is chance.
    (score * 2 >= wanted.len()).then(|| format!("The closest line is {}: {}", at + 1, quote(line)))
}

/// How many bytes two lines have in common at their beginning and end, less what one of them has more.
fn likeness(wanted: &[u8], line: &[u8]) -> usize {
    let head = wanted.iter().zip(line).take_while(|(a, b)| a == b).count();
    let (wanted_rest, line_rest) = (&wanted[head..], &line[head..]);
    let tail = wanted_rest.iter().rev().zip(line_rest.iter().rev()).take_while(|(a, b)| a == b).count();
    (head + tail).saturating_sub(line.len().saturating_sub(wanted.len()) / 2)
}

/// A line as it is shown in an error.
pub(super) fn quote(line: &[u8]) -> String {
    const SHOWN: usize = 160;
    let text = String::from_utf8_lossy(line);
    let text = text.trim_end_matches('\n');
    let cut: String = text.chars().take(SHOWN).collect();
    if cut.len() < text.len() { format!("{cut:?}…") } else { format!("{cut:?}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(old: &str, new: &str) -> Edit {
        Edit { old: old.to_owned(), new: new.to_owned(), all: false }
    }

    fn refusal(content: &str, old: &str) -> String {
        replace("x", content.into(), &[edit(old, "new")]).unwrap_err().public.into_owned()
    }

    #[test]
    fn each_edit_works_on_what_the_ones_before_made() {
        let (content, replaced) = replace("x", b"a".to_vec(), &[edit("a", "bb"), edit("bb", "c")]).unwrap();
        assert_eq!((content.as_slice(), replaced), (&b"c"[..], 2));
    }

    #[test]
    fn several_occurrences_are_refused_by_line_unless_all_are_meant() {
        let reason = refusal("a\nb\na\n", "a");
        assert!(reason.contains("2 times") && reason.contains("lines 1, 3;"), "{reason}");
        let all = Edit { all: true, ..edit("a", "c") };
        assert_eq!(replace("x", b"a\nb\na\n".to_vec(), &[all]).unwrap(), (b"c\nb\nc\n".to_vec(), 2));
    }

    #[test]
    fn occurrences_that_overlap_are_several() {
        assert!(refusal("}}}", "}}").contains("2 times, at lines 1, 1;"));
    }

    #[test]
    fn a_miss_names_the_other_line_endings() {
        let reason = refusal("x\r\na\r\nb\r\n", "a\nb");
        assert!(reason.contains("CRLF line endings at line 2"), "{reason}");
        assert!(refusal("a\nb\n", "a\r\nb").contains("LF line endings at line 1"));
    }

    #[test]
    fn a_miss_names_the_other_indentation() {
        let reason = refusal("fn a() {\n\tone();\n\ttwo();\n}\n", "    one();\n    two();\n");
        assert!(reason.contains("at lines 2 to 3") && reason.contains(r#""\tone();""#), "{reason}");
    }

    #[test]
    fn a_miss_names_the_closest_line() {
        let reason = refusal("first\nlet total = price * count;\n", "let total = price * amount;");
        assert!(reason.contains("closest line is 2") && reason.contains("price * count"), "{reason}");
        assert!(!refusal("first\n", "something else entirely").contains("closest"));
    }

    #[test]
    fn an_empty_text_and_a_change_of_nothing_are_refused() {
        assert!(refusal("a", "").contains("empty"));
        assert!(refusal("new", "new").contains("the same"));
    }

    #[test]
    fn bytes_that_are_no_text_are_kept_as_they_are() {
        let (content, _) = replace("x", b"\xff\xfe a \x00".to_vec(), &[edit("a", "b")]).unwrap();
        assert_eq!(content, b"\xff\xfe b \x00");
    }
}
