//! Applies the hunks of a patch to the content of a file.
//!
//! Every line a hunk removes or keeps has to be in the file exactly; only its line number may differ, as in `patch`
//! without fuzz. Line endings follow the file: a patch written with `\n` applies to a file with `\r\n`.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::HashMap;

use mainstay_core::{Error, Result};

use crate::diff::line_search::{ComparisonBudget, LinePattern};
use crate::diff::patch::{Hunk, Sign};
use crate::text::line::{quote, split_lines};

/// How many places an error message lists.
const MAX_LISTED: usize = 20;

/// A hunk that was applied at another line than the patch says.
#[derive(Debug, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub(crate) struct MovedHunk {
    path: String,
    /// Number of the hunk in its file, from 1.
    hunk: usize,
    /// Line it was applied at.
    line: usize,
    /// Distance from the line in the patch; negative if above.
    lines_off: i64,
}

/// Applies the hunks in order, each below the one before. Returns the new content and the hunks that had moved.
pub(crate) fn apply(
    path: &str,
    mut content: Vec<u8>,
    hunks: &[Hunk],
    budget: &ComparisonBudget,
) -> Result<(Vec<u8>, Vec<MovedHunk>)> {
    let lacks_newline =
        hunks.iter().any(|hunk| hunk.keeps_file_end) && !content.is_empty() && !content.ends_with(b"\n");
    if lacks_newline {
        content.push(b'\n');
    }
    let lines: Vec<&[u8]> = split_lines(&content).collect();
    budget.spend(lines.len() + content.len() / 64)?;
    let crlf = lines.iter().any(|line| line.ends_with(b"\r\n"));
    let variants: Vec<Vec<HunkTexts<'_>>> = hunks.iter().map(|hunk| line_ending_variants(hunk, crlf)).collect();
    let mut file = TargetFile::new(path, lines, &variants, budget);
    let (mut out, mut moved) = (Vec::with_capacity(content.len()), Vec::new());
    for (number, (hunk, line_ending_variants)) in hunks.iter().zip(&variants).enumerate() {
        let (at, texts) = file.place(number + 1, hunk, line_ending_variants)?;
        if let Some(off) = hunk.start.map(|start| signed(at) - signed(start) + 1).filter(|off| *off != 0) {
            moved.push(MovedHunk { path: path.to_owned(), hunk: number + 1, line: at + 1, lines_off: off });
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
    // What follows the last hunk.
    out.extend(file.lines[file.done..].concat());
    if lacks_newline && out.ends_with(b"\n") {
        out.pop();
    }
    Ok((out, moved))
}

/// How much memory [`apply`] needs besides the content itself: the result, and a slice and a number for each line.
pub(crate) fn memory_needed(content: &[u8]) -> usize {
    let lines = memchr::memchr_iter(b'\n', content).count() + 1;
    content.len() + lines * (size_of::<&[u8]>() + size_of::<u32>())
}

fn signed(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The lines of a hunk with one kind of line ending.
type HunkTexts<'a> = Vec<Cow<'a, [u8]>>;

/// The lines as the patch has them and, if they differ, with the line endings of the file.
fn line_ending_variants(hunk: &Hunk, crlf: bool) -> Vec<HunkTexts<'_>> {
    let plain: HunkTexts<'_> = hunk.lines.iter().map(|line| Cow::Borrowed(line.text.as_bytes())).collect();
    let other: HunkTexts<'_> = plain.iter().map(|line| with_line_ending(line, crlf)).collect();
    if other == plain { vec![plain] } else { vec![plain, other] }
}

fn with_line_ending<'h>(line: &Cow<'h, [u8]>, crlf: bool) -> Cow<'h, [u8]> {
    let bare = line.strip_suffix(b"\r\n").or_else(|| line.strip_suffix(b"\n"));
    match bare {
        Some(bare) => Cow::Owned([bare, if crlf { b"\r\n" } else { b"\n" }].concat()),
        None => line.clone(),
    }
}

/// The file that is patched.
struct TargetFile<'a> {
    path: &'a str,
    lines: Vec<&'a [u8]>,
    /// Each line as its number in `known`; 0 for all lines that occur in no hunk.
    numbers: Vec<u32>,
    known: HashMap<&'a [u8], u32>,
    /// How many lines the hunks so far have consumed.
    done: usize,
    /// How far the last hunk was from where the patch said; the next is expected to be as far off.
    offset: i64,
    budget: &'a ComparisonBudget,
}

impl<'a> TargetFile<'a> {
    fn new(
        path: &'a str,
        lines: Vec<&'a [u8]>,
        variants: &'a [Vec<HunkTexts<'_>>],
        budget: &'a ComparisonBudget,
    ) -> Self {
        let mut known = HashMap::new();
        // Equal lines of several hunks get the same number.
        for (text, number) in variants.iter().flatten().flatten().zip(1..) {
            known.entry(text.as_ref()).or_insert(number);
        }
        let numbers = lines.iter().map(|line| known.get(line).copied().unwrap_or(0)).collect();
        Self { path, lines, numbers, known, done: 0, offset: 0, budget }
    }

    /// Consumes a line.
    fn next(&mut self) -> &'a [u8] {
        self.done += 1;
        self.lines[self.done - 1]
    }

    /// Finds where a hunk applies, and with which line endings.
    fn place<'t>(
        &mut self,
        number: usize,
        hunk: &Hunk,
        line_ending_variants: &'t [HunkTexts<'t>],
    ) -> Result<(usize, &'t HunkTexts<'t>)> {
        for texts in line_ending_variants {
            let old = self.pattern(&old_lines(hunk, texts))?;
            let places = match hunk.start {
                Some(_) => self.nearest(self.expected(hunk), &old)?.into_iter().collect(),
                None => self.anywhere(hunk, &old)?,
            };
            match places.as_slice() {
                [] => {}
                [at] => {
                    self.offset = hunk.start.map_or(self.offset, |start| signed(*at) - signed(start) + 1);
                    return Ok((*at, texts));
                }
                [..] => return Err(self.ambiguous(number, hunk, &places)),
            }
        }
        let old = line_ending_variants.last().map(|texts| old_lines(hunk, texts)).unwrap_or_default();
        Err(self.does_not_apply(number, hunk, &old)?)
    }

    fn pattern(&self, lines: &[&[u8]]) -> Result<LinePattern> {
        let numbers = lines.iter().map(|line| self.known.get(line).copied().unwrap_or(0));
        LinePattern::new(numbers.collect(), self.budget)
    }

    /// The line where the hunk is expected, given how far off the one before was. It may be past the end of the file.
    fn expected(&self, hunk: &Hunk) -> usize {
        let start = signed(hunk.start.unwrap_or(1)).saturating_sub(1).saturating_add(self.offset);
        usize::try_from(start).unwrap_or(0)
    }

    /// Finds the match that is nearest to the expected line. A hunk without old lines applies only exactly there.
    fn nearest(&self, expected: usize, old: &LinePattern) -> Result<Option<usize>> {
        if old.len() == 0 {
            return Ok(Some(expected).filter(|at| (self.done..=self.lines.len()).contains(at)));
        }
        // The usual case, and no search: the hunk is where it is expected.
        if expected >= self.done && old.is_at(&self.numbers, expected) {
            return Ok(Some(expected));
        }
        let expected = expected.min(self.lines.len());
        let mut best: Option<usize> = None;
        for found in old.matches(&self.numbers[self.done..], self.budget) {
            let (at, matching) = found?;
            let at = self.done + at;
            if matching == old.len() && best.is_none_or(|best| at.abs_diff(expected) < best.abs_diff(expected)) {
                best = Some(at);
            }
            // Those that follow are further away.
            if best.is_some_and(|best| at >= expected + best.abs_diff(expected)) {
                break;
            }
        }
        Ok(best)
    }

    /// Finds the matches in the rest of the file, of which there should be one; only the first after the anchor if there
    /// is one.
    fn anywhere(&self, hunk: &Hunk, old: &LinePattern) -> Result<Vec<usize>> {
        let Some(from) = self.after_anchor(hunk)? else { return Ok(Vec::new()) };
        if old.len() == 0 {
            return Ok(vec![if hunk.anchor.is_some() { from } else { self.lines.len() }]);
        }
        // After an anchor the first match is meant; without one the match has to be the only one.
        let enough = if hunk.anchor.is_some() { 1 } else { MAX_LISTED };
        let mut places = Vec::new();
        for found in old.matches(&self.numbers[from..], self.budget) {
            let (at, matching) = found?;
            if matching == old.len() {
                places.push(from + at);
            }
            if places.len() >= enough {
                break;
            }
        }
        Ok(places)
    }

    /// The line after the hunk's anchor; `None` if the anchor is not in the rest of the file.
    fn after_anchor(&self, hunk: &Hunk) -> Result<Option<usize>> {
        let Some(anchor) = &hunk.anchor else { return Ok(Some(self.done)) };
        self.budget.spend(self.lines.len() - self.done)?;
        let mut lines = self.lines[self.done..].iter();
        // Anchors are compared without indentation, which models often omit.
        let at = lines.position(|line| line.trim_ascii() == anchor.trim().as_bytes());
        Ok(at.map(|at| self.done + at + 1))
    }

    fn ambiguous(&self, number: usize, hunk: &Hunk, places: &[usize]) -> Error {
        let lines: Vec<String> = places.iter().map(|at| (at + 1).to_string()).collect();
        let (path, line, lines) = (self.path, hunk.at, lines.join(", "));
        let reason = format!(
            "Hunk {number} of {path} (line {line} of the patch) matches at lines {lines}; add context lines to make it \
             unique."
        );
        Error::field("patch", reason)
    }

    /// The error for a hunk that applies nowhere: names the closest match and the first line that differs there.
    fn does_not_apply(&self, number: usize, hunk: &Hunk, old: &[&[u8]]) -> Result<Error> {
        let (same, at) = self.closest(hunk, old)?;
        let found = self.after_anchor(hunk)?;
        let anchor = hunk.anchor.as_ref().filter(|_| found.is_none());
        let what = match (anchor, old.get(same), self.lines.get(at + same)) {
            (Some(anchor), ..) => format!("the file has no line {anchor:?}"),
            (None, None, _) => format!("the file has only {} lines", self.lines.len()),
            (None, Some(wanted), None) => {
                format!("the file ends before line {}, where the patch expects {}", at + same + 1, quote(wanted))
            }
            (None, Some(wanted), Some(there)) => format!(
                "line {} of the file is {}, but the patch expects {}",
                at + same + 1,
                show_line(there, wanted),
                show_line(wanted, there)
            ),
        };
        let reason = format!(
            "Hunk {number} of {} (line {} of the patch) does not apply: {what}. Nothing was changed.",
            self.path, hunk.at
        );
        Ok(Error::field("patch", reason))
    }

    /// The longest partial match that is nearest to the expected line: how many lines match, and where.
    fn closest(&self, hunk: &Hunk, old: &[&[u8]]) -> Result<(usize, usize)> {
        let expected = self.expected(hunk);
        let mut best = (0, Reverse(0), expected.max(self.done));
        for found in self.pattern(old)?.matches(&self.numbers[self.done..], self.budget) {
            let (at, matching) = found?;
            let at = self.done + at;
            if matching > 0 {
                best = best.max((matching, Reverse(at.abs_diff(expected)), at));
            }
        }
        Ok((best.0, best.2))
    }
}

/// A line for an error message beside the line it was compared with: two that differ only in their line endings must
/// not look the same.
fn show_line(line: &[u8], beside: &[u8]) -> String {
    let same_text = line.trim_ascii_end() == beside.trim_ascii_end();
    if same_text && !line.ends_with(b"\n") { format!("{} without a newline", quote(line)) } else { quote(line) }
}

fn old_lines<'t>(hunk: &Hunk, texts: &'t [Cow<'_, [u8]>]) -> Vec<&'t [u8]> {
    let old = hunk.lines.iter().zip(texts).filter(|(line, _)| line.sign != Sign::Added);
    old.map(|(_, text)| text.as_ref()).collect()
}

#[cfg(test)]
mod tests {
    use mainstay_core::CancellationToken;

    use super::*;
    use crate::diff::unified::parse;

    fn patched(content: &str, hunks: &str) -> Result<(String, Vec<MovedHunk>)> {
        patched_within(1_000_000, content, hunks)
    }

    fn patched_within(comparisons: u64, content: &str, hunks: &str) -> Result<(String, Vec<MovedHunk>)> {
        let patch = parse(&format!("--- a/x\n+++ b/x\n{hunks}"), None).unwrap();
        let budget = ComparisonBudget::new(comparisons, &CancellationToken::new());
        let (content, moved) = apply("x", content.into(), &patch[0].hunks, &budget)?;
        Ok((String::from_utf8(content).unwrap(), moved))
    }

    fn updated(content: &str, body: &str) -> Result<String> {
        let patch = parse(&format!("*** Begin Patch\n*** Update File: x\n{body}*** End Patch\n"), None).unwrap();
        let budget = ComparisonBudget::new(1_000_000, &CancellationToken::new());
        let (content, _) = apply("x", content.into(), &patch[0].hunks, &budget)?;
        Ok(String::from_utf8(content).unwrap())
    }

    #[test]
    fn a_hunk_that_has_moved_is_found_and_reported() {
        let (content, moved) = patched("0\n0\na\nb\nc\n", "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n").unwrap();
        assert_eq!(content, "0\n0\na\nB\nc\n");
        assert_eq!(moved, [MovedHunk { path: "x".into(), hunk: 1, line: 3, lines_off: 2 }]);
    }

    #[test]
    fn of_two_matches_the_nearer_one_is_taken() {
        let content = "a\n1\n2\n3\n4\n5\na\n";
        assert_eq!(patched(content, "@@ -6 +6 @@\n-a\n+A\n").unwrap().0, "a\n1\n2\n3\n4\n5\nA\n");
        assert_eq!(patched(content, "@@ -2 +2 @@\n-a\n+A\n").unwrap().0, "A\n1\n2\n3\n4\n5\na\n");
    }

    #[test]
    fn hunks_apply_in_order() {
        let hunks = "@@ -5 +5 @@\n-a\n+A\n@@ -6 +6 @@\n-b\n+B\n";
        assert!(patched("b\na\n", hunks).is_err(), "the second would have to come before the first");
    }

    #[test]
    fn an_error_names_the_hunk_and_the_line_that_differs() {
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
    fn insertions_without_context_go_to_their_line_number() {
        assert_eq!(patched("a\nb\n", "@@ -1,0 +2 @@\n+new\n").unwrap().0, "a\nnew\nb\n");
        assert_eq!(patched("a\nb\n", "@@ -2,0 +3 @@\n+new\n").unwrap().0, "a\nb\nnew\n");
        assert!(patched("a\nb\n", "@@ -9,0 +9 @@\n+new\n").is_err());
    }

    #[test]
    fn hunks_without_line_numbers_must_match_exactly_once() {
        assert_eq!(updated("a\nb\n", "@@\n-b\n+c\n").unwrap(), "a\nc\n");
        let error = updated("a\nb\na\n", "@@\n-a\n+c\n").unwrap_err().public.into_owned();
        assert!(error.contains("lines 1, 3"), "{error}");
        assert_eq!(updated("f:\n a\ng:\n a\n", "@@ g:\n- a\n+ c\n").unwrap(), "f:\n a\ng:\n c\n");
        let error = updated("a\n", "@@ h:\n-a\n+c\n").unwrap_err().public.into_owned();
        assert!(error.contains(r#"no line "h:""#), "{error}");
    }

    #[test]
    fn a_format_without_line_numbers_keeps_the_end_of_the_file() {
        assert_eq!(updated("a\nb", "@@\n-b\n+c\n").unwrap(), "a\nc");
        assert_eq!(updated("a\nb", "@@\n a\n+n\n").unwrap(), "a\nn\nb");
    }

    #[test]
    fn a_line_number_far_past_the_end_is_only_a_wrong_number() {
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
        assert!(error.contains("does not apply") && error.contains(r#"expects "other""#), "{error}");
        let (_, moved) = patched_within(2_000_000, &(content + "other\n"), &numbered).unwrap();
        assert_eq!(moved[0].line, 200_001 - 1_999);
    }

    #[test]
    fn a_search_that_takes_too_long_is_stopped() {
        let error = patched_within(1_000, &"a\n".repeat(900), "@@ -1 +1 @@\n-b\n+c\n").unwrap_err();
        assert_eq!(error.field_name(), Some("patch"));
        assert!(error.public.contains("too many comparisons"), "{error}");
    }
}
