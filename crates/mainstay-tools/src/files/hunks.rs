//! Fitting the hunks of a patch into a file.

use std::borrow::Cow;

use mainstay_core::{Error, Result};
use schemars::JsonSchema;
use serde::Serialize;

use super::diff::lines;
use super::replace::quote;
use super::unified::{Hunk, Sign};

/// A hunk that was found at another line than the patch says.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(super) struct Moved {
    path: String,
    /// Which hunk of the file, from 1.
    hunk: usize,
    /// The line it was applied at.
    line: usize,
    /// How many lines that is below the one the patch says; above it, if this is negative.
    lines_off: i64,
}

/// Applies hunks in their order. Every line they are about has to be there exactly; only where may differ.
pub(super) fn apply(path: &str, mut content: Vec<u8>, hunks: &[Hunk]) -> Result<(Vec<u8>, Vec<Moved>)> {
    let unended = hunks.iter().any(|hunk| hunk.loose_end) && !content.is_empty() && !content.ends_with(b"\n");
    if unended {
        content.push(b'\n');
    }
    let lines: Vec<&[u8]> = lines(&content).collect();
    let mut file = File { path, crlf: lines.iter().any(|line| line.ends_with(b"\r\n")), lines, done: 0, off: 0 };
    let (mut out, mut moved) = (Vec::with_capacity(content.len()), Vec::new());
    for (number, hunk) in hunks.iter().enumerate() {
        let (at, texts) = file.fit(number + 1, hunk)?;
        if let Some(off) = hunk.start.map(|start| signed(at) - signed(start) + 1).filter(|off| *off != 0) {
            moved.push(Moved { path: path.to_owned(), hunk: number + 1, line: at + 1, lines_off: off });
        }
        out.extend(file.lines[file.done..at].concat());
        file.done = at;
        for (line, text) in hunk.lines.iter().zip(texts) {
            match line.sign {
                Sign::Context => out.extend_from_slice(file.next()),
                Sign::Removed => drop(file.next()),
                Sign::Added => out.extend_from_slice(&text),
            }
        }
    }
    out.extend(file.lines[file.done..].concat());
    if unended && out.ends_with(b"\n") {
        out.pop();
    }
    Ok((out, moved))
}

fn signed(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

struct File<'a> {
    path: &'a str,
    lines: Vec<&'a [u8]>,
    crlf: bool,
    /// Lines that earlier hunks have used up.
    done: usize,
    /// How far off the last hunk was.
    off: i64,
}

/// The lines of a hunk in one spelling of their ends.
type Texts<'a> = Vec<Cow<'a, [u8]>>;

enum Fit {
    At(usize),
    Several(Vec<usize>),
    Nowhere,
}

impl<'a> File<'a> {
    fn next(&mut self) -> &'a [u8] {
        self.done += 1;
        self.lines[self.done - 1]
    }

    /// Where a hunk fits, and its lines as the file would write them.
    fn fit<'h>(&mut self, number: usize, hunk: &'h Hunk) -> Result<(usize, Texts<'h>)> {
        for texts in self.spellings(hunk) {
            let old: Vec<&[u8]> = old_lines(hunk, &texts);
            match self.search(hunk, &old) {
                Fit::At(at) => {
                    self.off = hunk.start.map_or(self.off, |start| signed(at) - signed(start) + 1);
                    return Ok((at, texts));
                }
                Fit::Several(places) => return Err(self.ambiguous(number, hunk, &places)),
                Fit::Nowhere => {}
            }
        }
        Err(self.misfit(number, hunk))
    }

    /// The lines as they stand in the patch, and with the line endings of the file.
    fn spellings<'h>(&self, hunk: &'h Hunk) -> Vec<Texts<'h>> {
        let plain: Texts<'h> = hunk.lines.iter().map(|line| Cow::Borrowed(line.text.as_bytes())).collect();
        let other: Texts<'h> = plain.iter().map(|line| self.with_our_end(line)).collect();
        if other == plain { vec![plain] } else { vec![plain, other] }
    }

    fn with_our_end<'h>(&self, line: &Cow<'h, [u8]>) -> Cow<'h, [u8]> {
        let bare = line.strip_suffix(b"\r\n").or_else(|| line.strip_suffix(b"\n"));
        match bare {
            Some(bare) => Cow::Owned([bare, if self.crlf { b"\r\n" } else { b"\n" }].concat()),
            None => line.clone(),
        }
    }

    fn search(&self, hunk: &Hunk, old: &[&[u8]]) -> Fit {
        match hunk.start {
            Some(_) => self.nearest(self.expected(hunk), old),
            None => self.anywhere(hunk, old),
        }
    }

    /// The line the patch means, if this hunk is as far off as the one before.
    fn expected(&self, hunk: &Hunk) -> usize {
        let start = signed(hunk.start.unwrap_or(1)) - 1 + self.off;
        usize::try_from(start).unwrap_or(0)
    }

    fn nearest(&self, expected: usize, old: &[&[u8]]) -> Fit {
        let Some(last) = self.lines.len().checked_sub(old.len()) else { return Fit::Nowhere };
        if old.is_empty() {
            return if (self.done..=last).contains(&expected) { Fit::At(expected) } else { Fit::Nowhere };
        }
        let fits = |at: usize| (self.done..=last).contains(&at) && self.lines[at..at + old.len()] == *old;
        for distance in 0..=self.lines.len().max(expected) {
            for at in [expected.checked_sub(distance), expected.checked_add(distance)].into_iter().flatten() {
                if fits(at) {
                    return Fit::At(at);
                }
            }
        }
        Fit::Nowhere
    }

    fn anywhere(&self, hunk: &Hunk, old: &[&[u8]]) -> Fit {
        let anchored = |line: &&[u8], anchor: &str| line.trim_ascii() == anchor.trim().as_bytes();
        let from = match &hunk.anchor {
            None => self.done,
            Some(anchor) => match self.lines[self.done..].iter().position(|line| anchored(line, anchor)) {
                Some(at) => self.done + at + 1,
                None => return Fit::Nowhere,
            },
        };
        if old.is_empty() {
            return Fit::At(if hunk.anchor.is_some() { from } else { self.lines.len() });
        }
        let places = self.lines[from..].windows(old.len()).enumerate().filter(|(_, window)| *window == old);
        let places: Vec<usize> = places.map(|(at, _)| from + at).take(20).collect();
        match places.as_slice() {
            [] => Fit::Nowhere,
            [at] => Fit::At(*at),
            [first, ..] if hunk.anchor.is_some() => Fit::At(*first),
            _ => Fit::Several(places),
        }
    }

    fn ambiguous(&self, number: usize, hunk: &Hunk, places: &[usize]) -> Error {
        let lines: Vec<String> = places.iter().map(|at| (at + 1).to_string()).collect();
        Error::field(
            "patch",
            format!(
                "Hunk {number} of {} (line {} of the patch) fits at lines {}; add lines around it to say which is meant.",
                self.path,
                hunk.at,
                lines.join(", ")
            ),
        )
    }

    /// Says where the hunk comes closest, and which line is different there.
    fn misfit(&self, number: usize, hunk: &Hunk) -> Error {
        let texts = self.spellings(hunk).pop().unwrap_or_default();
        let old = old_lines(hunk, &texts);
        let expected = self.expected(hunk);
        let alike = |at: usize| self.lines[at..].iter().zip(&old).take_while(|(a, b)| a == b).count();
        let best = (self.done..self.lines.len())
            .map(|at| (alike(at), std::cmp::Reverse(at.abs_diff(expected)), at))
            .max()
            .filter(|(alike, ..)| *alike > 0)
            .map_or((0, expected.max(self.done)), |(alike, _, at)| (alike, at));
        let (same, at) = best;
        let anchor = hunk
            .anchor
            .as_ref()
            .filter(|anchor| !self.lines[self.done..].iter().any(|line| line.trim_ascii() == anchor.trim().as_bytes()));
        let what = match (anchor, old.get(same), self.lines.get(at + same)) {
            (Some(anchor), ..) => format!("no line is {anchor:?}"),
            (None, None, _) => format!("the file has only {} lines", self.lines.len()),
            (None, Some(wanted), None) => {
                format!("the file ends before line {}, where the patch expects {}", at + same + 1, quote(wanted))
            }
            (None, Some(wanted), Some(there)) => format!(
                "line {} of the file is {}, and the patch expects {}",
                at + same + 1,
                shown(there, wanted),
                shown(wanted, there)
            ),
        };
        let reason = format!(
            "Hunk {number} of {} (line {} of the patch) does not fit: {what}. Nothing was changed.",
            self.path, hunk.at
        );
        Error::field("patch", reason)
    }
}

/// A line as it is shown beside another one: two that differ only in their ends must look different.
fn shown(line: &[u8], beside: &[u8]) -> String {
    let ends = line.trim_ascii_end() == beside.trim_ascii_end();
    match (ends, line.ends_with(b"\n")) {
        (true, false) => format!("{} without a newline", quote(line)),
        (true | false, _) => quote(line),
    }
}

fn old_lines<'t>(hunk: &Hunk, texts: &'t Texts<'_>) -> Vec<&'t [u8]> {
    let old = hunk.lines.iter().zip(texts).filter(|(line, _)| line.sign != Sign::Added);
    old.map(|(_, text)| text.as_ref()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::unified::parse;

    fn patched(content: &str, hunks: &str) -> Result<(String, Vec<Moved>)> {
        let patch = parse(&format!("--- a/x\n+++ b/x\n{hunks}"), None).unwrap();
        let (content, moved) = apply("x", content.into(), &patch[0].hunks)?;
        Ok((String::from_utf8(content).unwrap(), moved))
    }

    fn updated(content: &str, body: &str) -> Result<String> {
        let patch = parse(&format!("*** Begin Patch\n*** Update File: x\n{body}*** End Patch\n"), None).unwrap();
        apply("x", content.into(), &patch[0].hunks).map(|(content, _)| String::from_utf8(content).unwrap())
    }

    #[test]
    fn a_hunk_that_has_moved_is_found_and_said() {
        let (content, moved) = patched("0\n0\na\nb\nc\n", "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n").unwrap();
        assert_eq!(content, "0\n0\na\nB\nc\n");
        assert_eq!(moved, [Moved { path: "x".into(), hunk: 1, line: 3, lines_off: 2 }]);
    }

    #[test]
    fn of_two_places_the_nearer_one_is_meant() {
        let content = "a\n1\n2\n3\n4\n5\na\n";
        assert_eq!(patched(content, "@@ -6 +6 @@\n-a\n+A\n").unwrap().0, "a\n1\n2\n3\n4\n5\nA\n");
        assert_eq!(patched(content, "@@ -2 +2 @@\n-a\n+A\n").unwrap().0, "A\n1\n2\n3\n4\n5\na\n");
    }

    #[test]
    fn hunks_stay_in_their_order() {
        let hunks = "@@ -5 +5 @@\n-a\n+A\n@@ -6 +6 @@\n-b\n+B\n";
        assert!(patched("b\na\n", hunks).is_err(), "the second would have to come before the first");
    }

    #[test]
    fn a_misfit_names_the_hunk_and_the_line_that_differs() {
        let error = patched("a\nb\nX\nd\n", "@@ -1,4 +1,4 @@\n a\n b\n-c\n+C\n d\n").unwrap_err().public.into_owned();
        assert!(error.contains("Hunk 1 of x") && error.contains(r#"line 3 of the file is "X""#), "{error}");
        assert!(error.contains(r#"expects "c""#), "{error}");
        let error = patched("a\n", "@@ -1,2 +1,1 @@\n a\n-b\n").unwrap_err().public.into_owned();
        assert!(error.contains("ends before line 2"), "{error}");
        let error = patched("a", "@@ -1 +1 @@\n-a\n+b\n").unwrap_err().public.into_owned();
        assert!(error.contains(r#""a" without a newline"#), "{error}");
    }

    #[test]
    fn line_endings_of_the_file_are_kept() {
        let hunk = "@@ -1,2 +1,3 @@\n a\n-b\n+c\n+d\n";
        assert_eq!(patched("a\r\nb\r\n", hunk).unwrap().0, "a\r\nc\r\nd\r\n");
        assert_eq!(patched("a\nb\n", &hunk.replace('\n', "\r\n")).unwrap().0, "a\nc\nd\n");
    }

    #[test]
    fn insertions_without_context_go_where_they_are_said_to_go() {
        assert_eq!(patched("a\nb\n", "@@ -1,0 +2 @@\n+new\n").unwrap().0, "a\nnew\nb\n");
        assert_eq!(patched("a\nb\n", "@@ -2,0 +3 @@\n+new\n").unwrap().0, "a\nb\nnew\n");
        assert!(patched("a\nb\n", "@@ -9,0 +9 @@\n+new\n").is_err());
    }

    #[test]
    fn hunks_without_numbers_have_to_fit_in_one_place() {
        assert_eq!(updated("a\nb\n", "@@\n-b\n+c\n").unwrap(), "a\nc\n");
        let error = updated("a\nb\na\n", "@@\n-a\n+c\n").unwrap_err().public.into_owned();
        assert!(error.contains("lines 1, 3"), "{error}");
        assert_eq!(updated("f:\n a\ng:\n a\n", "@@ g:\n- a\n+ c\n").unwrap(), "f:\n a\ng:\n c\n");
        let error = updated("a\n", "@@ h:\n-a\n+c\n").unwrap_err().public.into_owned();
        assert!(error.contains(r#"no line is "h:""#), "{error}");
    }

    #[test]
    fn a_form_without_numbers_leaves_the_end_of_the_file_as_it_was() {
        assert_eq!(updated("a\nb", "@@\n-b\n+c\n").unwrap(), "a\nc");
        assert_eq!(updated("a\nb", "@@\n a\n+n\n").unwrap(), "a\nn\nb");
    }
}
