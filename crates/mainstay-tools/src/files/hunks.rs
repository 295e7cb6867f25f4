//! Fitting the hunks of a patch into a file.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::ops::ControlFlow;

use mainstay_core::{Error, Result};
use schemars::JsonSchema;
use serde::Serialize;

use super::diff::lines;
use super::hunk::{Hunk, Sign};
use super::pattern::{Effort, Pattern};
use super::replace::quote;

/// Places that are named one by one.
const NAMED: usize = 20;

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
pub(super) fn apply(
    path: &str,
    mut content: Vec<u8>,
    hunks: &[Hunk],
    effort: &mut Effort,
) -> Result<(Vec<u8>, Vec<Moved>)> {
    let unended = hunks.iter().any(|hunk| hunk.loose_end) && !content.is_empty() && !content.ends_with(b"\n");
    if unended {
        content.push(b'\n');
    }
    let lines: Vec<&[u8]> = lines(&content).collect();
    effort.spend(lines.len() + content.len() / 64)?;
    let crlf = lines.iter().any(|line| line.ends_with(b"\r\n"));
    let spelled: Vec<Vec<Texts<'_>>> = hunks.iter().map(|hunk| spellings(hunk, crlf)).collect();
    let mut file = File::new(path, lines, &spelled);
    let (mut out, mut moved) = (Vec::with_capacity(content.len()), Vec::new());
    for (number, (hunk, spellings)) in hunks.iter().zip(&spelled).enumerate() {
        let (at, texts) = file.fit(number + 1, hunk, spellings, effort)?;
        if let Some(off) = hunk.start.map(|start| signed(at) - signed(start) + 1).filter(|off| *off != 0) {
            moved.push(Moved { path: path.to_owned(), hunk: number + 1, line: at + 1, lines_off: off });
        }
        out.extend(file.lines[file.done..at].concat());
        file.done = at;
        for (line, text) in hunk.lines.iter().zip(texts) {
            match line.sign {
                Sign::Context => out.extend_from_slice(file.next()),
                Sign::Removed => drop(file.next()),
                Sign::Added => out.extend_from_slice(text),
            }
        }
    }
    out.extend(file.lines[file.done..].concat());
    if unended && out.ends_with(b"\n") {
        out.pop();
    }
    Ok((out, moved))
}

/// The memory that applying hunks to this content takes for a while, beside the content.
pub(super) fn room_for(content: &[u8]) -> usize {
    let lines = memchr::memchr_iter(b'\n', content).count() + 1;
    content.len() + lines * (size_of::<&[u8]>() + size_of::<u32>())
}

fn signed(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The lines of a hunk in one spelling of their ends.
type Texts<'a> = Vec<Cow<'a, [u8]>>;

/// The lines as they stand in the patch, and with the line endings of the file.
fn spellings(hunk: &Hunk, crlf: bool) -> Vec<Texts<'_>> {
    let plain: Texts<'_> = hunk.lines.iter().map(|line| Cow::Borrowed(line.text.as_bytes())).collect();
    let other: Texts<'_> = plain.iter().map(|line| with_our_end(line, crlf)).collect();
    if other == plain { vec![plain] } else { vec![plain, other] }
}

fn with_our_end<'h>(line: &Cow<'h, [u8]>, crlf: bool) -> Cow<'h, [u8]> {
    let bare = line.strip_suffix(b"\r\n").or_else(|| line.strip_suffix(b"\n"));
    match bare {
        Some(bare) => Cow::Owned([bare, if crlf { b"\r\n" } else { b"\n" }].concat()),
        None => line.clone(),
    }
}

struct File<'a> {
    path: &'a str,
    lines: Vec<&'a [u8]>,
    /// Each line's number in `known`; those that no hunk speaks of all have the same.
    numbers: Vec<u32>,
    known: HashMap<&'a [u8], u32>,
    /// Lines that earlier hunks have used up.
    done: usize,
    /// How far off the last hunk was.
    off: i64,
}

enum Fit {
    At(usize),
    Several(Vec<usize>),
    Nowhere,
}

impl<'a> File<'a> {
    fn new(path: &'a str, lines: Vec<&'a [u8]>, spelled: &'a [Vec<Texts<'_>>]) -> Self {
        let mut known = HashMap::new();
        for (text, number) in spelled.iter().flatten().flatten().zip(1..) {
            known.entry(text.as_ref()).or_insert(number);
        }
        let numbers = lines.iter().map(|line| known.get(line).copied().unwrap_or(0)).collect();
        Self { path, lines, numbers, known, done: 0, off: 0 }
    }

    fn next(&mut self) -> &'a [u8] {
        self.done += 1;
        self.lines[self.done - 1]
    }

    /// Where a hunk fits, and its lines as the file would write them.
    fn fit<'t>(
        &mut self,
        number: usize,
        hunk: &Hunk,
        spellings: &'t [Texts<'t>],
        effort: &mut Effort,
    ) -> Result<(usize, &'t Texts<'t>)> {
        for texts in spellings {
            let old = self.pattern(&old_lines(hunk, texts), effort)?;
            match self.search(hunk, &old, effort)? {
                Fit::At(at) => {
                    self.off = hunk.start.map_or(self.off, |start| signed(at) - signed(start) + 1);
                    return Ok((at, texts));
                }
                Fit::Several(places) => return Err(self.ambiguous(number, hunk, &places)),
                Fit::Nowhere => {}
            }
        }
        let old = spellings.last().map(|texts| old_lines(hunk, texts)).unwrap_or_default();
        Err(self.misfit(number, hunk, &old, effort))
    }

    fn pattern(&self, lines: &[&[u8]], effort: &mut Effort) -> Result<Pattern> {
        Pattern::new(lines.iter().map(|line| self.known.get(line).copied().unwrap_or(0)).collect(), effort)
    }

    fn search(&self, hunk: &Hunk, old: &Pattern, effort: &mut Effort) -> Result<Fit> {
        match hunk.start {
            Some(_) => self.nearest(self.expected(hunk), old, effort),
            None => self.anywhere(hunk, old, effort),
        }
    }

    /// The line the patch means, if this hunk is as far off as the one before. It may be far behind the end.
    fn expected(&self, hunk: &Hunk) -> usize {
        let start = signed(hunk.start.unwrap_or(1)).saturating_sub(1).saturating_add(self.off);
        usize::try_from(start).unwrap_or(0)
    }

    fn nearest(&self, expected: usize, old: &Pattern, effort: &mut Effort) -> Result<Fit> {
        if old.len() == 0 {
            let there = (self.done..=self.lines.len()).contains(&expected);
            return Ok(if there { Fit::At(expected) } else { Fit::Nowhere });
        }
        if expected >= self.done && old.is_at(&self.numbers, expected) {
            return Ok(Fit::At(expected));
        }
        let expected = expected.min(self.lines.len());
        let mut best: Option<usize> = None;
        old.each(&self.numbers[self.done..], effort, |at, alike| {
            let at = self.done + at;
            if alike == old.len() && best.is_none_or(|best| at.abs_diff(expected) < best.abs_diff(expected)) {
                best = Some(at);
            }
            let nothing_nearer = best.is_some_and(|best| at >= expected + best.abs_diff(expected));
            if nothing_nearer { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        Ok(best.map_or(Fit::Nowhere, Fit::At))
    }

    fn anywhere(&self, hunk: &Hunk, old: &Pattern, effort: &mut Effort) -> Result<Fit> {
        let Some(from) = self.after_anchor(hunk, effort)? else { return Ok(Fit::Nowhere) };
        if old.len() == 0 {
            return Ok(Fit::At(if hunk.anchor.is_some() { from } else { self.lines.len() }));
        }
        let enough = if hunk.anchor.is_some() { 1 } else { NAMED };
        let mut places = Vec::new();
        old.each(&self.numbers[from..], effort, |at, alike| {
            if alike == old.len() {
                places.push(from + at);
            }
            if places.len() < enough { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        Ok(match places.as_slice() {
            [] => Fit::Nowhere,
            [at] => Fit::At(*at),
            _ => Fit::Several(places),
        })
    }

    /// Where the lines after a hunk's anchor begin; nowhere if the anchor is not there.
    fn after_anchor(&self, hunk: &Hunk, effort: &mut Effort) -> Result<Option<usize>> {
        let Some(anchor) = &hunk.anchor else { return Ok(Some(self.done)) };
        effort.spend(self.lines.len() - self.done)?;
        let mut lines = self.lines[self.done..].iter();
        let at = lines.position(|line| line.trim_ascii() == anchor.trim().as_bytes());
        Ok(at.map(|at| self.done + at + 1))
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
    fn misfit(&self, number: usize, hunk: &Hunk, old: &[&[u8]], effort: &mut Effort) -> Error {
        let (same, at) = match self.closest(hunk, old, effort) {
            Ok(closest) => closest,
            Err(error) => return error,
        };
        let anchor = match self.after_anchor(hunk, effort) {
            Ok(found) => hunk.anchor.as_ref().filter(|_| found.is_none()),
            Err(error) => return error,
        };
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

    /// How many of the lines are where most of them are, and where that is.
    fn closest(&self, hunk: &Hunk, old: &[&[u8]], effort: &mut Effort) -> Result<(usize, usize)> {
        let expected = self.expected(hunk);
        let mut best = (0, Reverse(0), expected.max(self.done));
        self.pattern(old, effort)?.each(&self.numbers[self.done..], effort, |at, alike| {
            let at = self.done + at;
            if alike > 0 {
                best = best.max((alike, Reverse(at.abs_diff(expected)), at));
            }
            ControlFlow::Continue(())
        })?;
        Ok((best.0, best.2))
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

fn old_lines<'t>(hunk: &Hunk, texts: &'t [Cow<'_, [u8]>]) -> Vec<&'t [u8]> {
    let old = hunk.lines.iter().zip(texts).filter(|(line, _)| line.sign != Sign::Added);
    old.map(|(_, text)| text.as_ref()).collect()
}

#[cfg(test)]
mod tests {
    use mainstay_core::CancellationToken;

    use super::*;
    use crate::files::unified::parse;

    fn patched(content: &str, hunks: &str) -> Result<(String, Vec<Moved>)> {
        patched_within(1_000_000, content, hunks)
    }

    fn patched_within(comparisons: u64, content: &str, hunks: &str) -> Result<(String, Vec<Moved>)> {
        let patch = parse(&format!("--- a/x\n+++ b/x\n{hunks}"), None).unwrap();
        let mut effort = Effort::of(comparisons, &CancellationToken::new());
        let (content, moved) = apply("x", content.into(), &patch[0].hunks, &mut effort)?;
        Ok((String::from_utf8(content).unwrap(), moved))
    }

    fn updated(content: &str, body: &str) -> Result<String> {
        let patch = parse(&format!("*** Begin Patch\n*** Update File: x\n{body}*** End Patch\n"), None).unwrap();
        let mut effort = Effort::new(&CancellationToken::new());
        let (content, _) = apply("x", content.into(), &patch[0].hunks, &mut effort)?;
        Ok(String::from_utf8(content).unwrap())
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

    #[test]
    fn a_line_number_far_behind_the_end_is_only_a_wrong_number() {
        for start in [usize::MAX, usize::MAX / 2, 1 << 40] {
            let hunk = format!("@@ -{start} +1 @@\n-a\n+A\n");
            assert_eq!(patched("a\nb\na\nb\n", &hunk).unwrap().0, "a\nb\nA\nb\n", "{start}");
            assert!(patched("b\n", &hunk).is_err());
            assert!(patched("a\n", &format!("@@ -{start},0 +1 @@\n+A\n")).is_err());
            let second = format!("{hunk}@@ -{start} +1 @@\n-b\n+B\n");
            assert_eq!(patched("a\nb\n", &second).unwrap().0, "A\nB\n");
        }
    }

    #[test]
    fn lines_that_repeat_are_searched_once() {
        let (content, context) = ("same\n".repeat(200_000), " same\n".repeat(1_999));
        let numbered = format!("@@ -1,2000 +1,1999 @@\n{context}-other\n");
        let error = patched_within(2_000_000, &content, &numbered).unwrap_err().public.into_owned();
        assert!(error.contains("does not fit") && error.contains(r#"expects "other""#), "{error}");
        let (_, moved) = patched_within(2_000_000, &(content + "other\n"), &numbered).unwrap();
        assert_eq!(moved[0].line, 200_001 - 1_999);
    }

    #[test]
    fn a_search_that_takes_too_much_is_given_up() {
        let error = patched_within(1_000, &"a\n".repeat(900), "@@ -1 +1 @@\n-b\n+c\n").unwrap_err();
        assert_eq!(error.field_name(), Some("patch"));
        assert!(error.public.contains("too many comparisons"), "{error}");
    }
}
