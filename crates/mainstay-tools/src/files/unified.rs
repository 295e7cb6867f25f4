//! Reading patches: unified diffs, git's as well, and the `*** Begin Patch` form.

use mainstay_core::{Error, Result};

use super::names::{both_names, name_in, without};

/// What a patch does to one file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct FilePatch {
    /// The path before; `None` if the file is new.
    pub(super) old: Option<String>,
    /// The path after; `None` if the file goes.
    pub(super) new: Option<String>,
    /// The file gets another name. Without this, two names are two guesses at one file.
    pub(super) renames: bool,
    /// The old file stays where it is.
    pub(super) copies: bool,
    /// What is in a file that goes is not said.
    pub(super) unseen: bool,
    pub(super) mode: Option<u32>,
    pub(super) hunks: Vec<Hunk>,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Hunk {
    /// The line it begins at, from 1, if the patch says so.
    pub(super) start: Option<usize>,
    /// A line that comes somewhere before it.
    pub(super) anchor: Option<String>,
    pub(super) lines: Vec<Line>,
    /// The form knows no missing newline at the end of a file.
    pub(super) loose_end: bool,
    /// Where it stands in the patch.
    pub(super) at: usize,
}

/// A line with its end.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) sign: Sign,
    pub(super) text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    Context,
    Removed,
    Added,
}

/// Reads a patch. `strip` is how many leading names to take off each path; `None` finds out.
pub(super) fn parse(patch: &str, strip: Option<usize>) -> Result<Vec<FilePatch>> {
    let mut reader = Reader { lines: patch.split_inclusive('\n').collect(), at: 0, strip };
    let files = if patch.lines().any(|line| line.trim_end() == "*** Begin Patch") {
        reader.skip_to("*** Begin Patch");
        super::envelope::parse(&mut reader)?
    } else {
        reader.files()?
    };
    if files.is_empty() {
        return Err(wrong(0, "there is no file in it; a unified diff begins with \"--- a/path\" and \"+++ b/path\""));
    }
    Ok(files)
}

pub(super) fn wrong(at: usize, reason: &str) -> Error {
    if at == 0 {
        return Error::field("patch", format!("The patch cannot be read: {reason}."));
    }
    Error::field("patch", format!("The patch cannot be read at its line {at}: {reason}."))
}

pub(super) struct Reader<'a> {
    lines: Vec<&'a str>,
    at: usize,
    strip: Option<usize>,
}

/// What git says about a file before its hunks.
#[derive(Default)]
struct Header {
    names: Option<(String, String)>,
    /// The names in the lines right before the hunks.
    sides: Option<(Option<String>, Option<String>)>,
    from: Option<String>,
    to: Option<String>,
    copies: bool,
    is_new: bool,
    is_gone: bool,
    mode: Option<u32>,
}

impl<'a> Reader<'a> {
    /// The line that is read next, without its end.
    pub(super) fn peek(&self) -> Option<&'a str> {
        self.lines.get(self.at).map(|line| line.trim_end_matches(['\n', '\r']))
    }

    /// The same with its end.
    pub(super) fn peek_whole(&self) -> Option<&'a str> {
        self.lines.get(self.at).copied()
    }

    pub(super) fn advance(&mut self) {
        self.at += 1;
    }

    /// The number of the line that is read next.
    pub(super) fn number(&self) -> usize {
        self.at + 1
    }

    fn skip_to(&mut self, line: &str) {
        while self.peek().is_some_and(|here| here.trim_end() != line) {
            self.advance();
        }
        self.advance();
    }

    fn files(&mut self) -> Result<Vec<FilePatch>> {
        let mut files = Vec::new();
        // Whatever stands between files is for people.
        while let Some(line) = self.peek() {
            if line.starts_with("diff --git ") || self.at_names() {
                files.push(self.file()?);
            } else if line.starts_with("@@ -") {
                return Err(wrong(self.number(), "a hunk without \"---\" and \"+++\" lines before it"));
            } else if line.starts_with("... left out: ") {
                return Err(wrong(self.number(), "this diff was cut off; a part of it is left out"));
            } else {
                self.advance();
            }
        }
        Ok(files)
    }

    fn at_names(&self) -> bool {
        let starts = |at: usize, with: &str| self.lines.get(at).is_some_and(|line| line.starts_with(with));
        starts(self.at, "--- ") && starts(self.at + 1, "+++ ")
    }

    fn file(&mut self) -> Result<FilePatch> {
        let begins = self.number();
        let mut header = Header::default();
        if self.peek().is_some_and(|line| line.starts_with("diff --git ")) {
            self.git_header(&mut header)?;
        }
        if self.at_names() {
            header.sides = Some((self.side(), self.side()));
        }
        let mut file = header.file(self.strip).ok_or_else(|| wrong(begins, "it does not say which file is meant"))?;
        while self.peek().is_some_and(|line| line.starts_with("@@")) {
            file.hunks.push(self.hunk()?);
        }
        Ok(file)
    }

    /// The name in a `---` or `+++` line.
    fn side(&mut self) -> Option<String> {
        let name = self.peek()?.get(4..).and_then(name_in);
        self.advance();
        name.filter(|name| name != "/dev/null")
    }

    fn git_header(&mut self, header: &mut Header) -> Result<()> {
        let line = self.peek().unwrap_or_default();
        header.names = both_names(line.strip_prefix("diff --git ").unwrap_or_default());
        self.advance();
        while let Some(line) = self.peek() {
            let value = |prefix: &str| line.strip_prefix(prefix);
            if let Some(name) = value("rename from ").or_else(|| value("copy from ")) {
                header.from = name_in(name);
                header.copies = line.starts_with("copy");
            } else if let Some(name) = value("rename to ").or_else(|| value("copy to ")) {
                header.to = name_in(name);
            } else if let Some(mode) = value("new file mode ") {
                header.is_new = true;
                header.mode = mode_in(mode, self.number())?;
            } else if value("deleted file mode ").is_some() {
                header.is_gone = true;
            } else if let Some(mode) = value("new mode ") {
                header.mode = mode_in(mode, self.number())?;
            } else if line.starts_with("GIT binary patch") || line.starts_with("Binary files ") {
                return Err(wrong(self.number(), "it changes a binary file; use files_write with content_base64"));
            } else if !["index ", "old mode ", "similarity index ", "dissimilarity index "]
                .iter()
                .any(|known| line.starts_with(known))
            {
                break;
            }
            self.advance();
        }
        Ok(())
    }

    fn hunk(&mut self) -> Result<Hunk> {
        let begins = self.number();
        let header = self.peek().unwrap_or_default();
        self.advance();
        let body = self.at;
        let Some((start, old, new)) = ranges(header) else {
            let anchor = header.trim_matches('@').trim();
            let anchor = Some(anchor.to_owned()).filter(|anchor| !anchor.is_empty());
            return Ok(Hunk { anchor, lines: self.uncounted()?, at: begins, ..Hunk::default() });
        };
        let lines = if let Some(lines) = self.counted(old, new) {
            lines
        } else {
            // The numbers are wrong; the lines themselves still say what is meant.
            self.at = body;
            self.uncounted()?
        };
        Ok(Hunk { start: Some(start), lines, at: begins, ..Hunk::default() })
    }

    /// As many lines as the header says; `None` if that is not how many there are.
    fn counted(&mut self, mut old: usize, mut new: usize) -> Option<Vec<Line>> {
        let mut lines: Vec<Line> = Vec::new();
        while old > 0 || new > 0 || self.peek().is_some_and(|line| line.starts_with('\\')) {
            let line = self.peek_whole()?;
            if line.starts_with('\\') {
                unended(&mut lines)?;
            } else {
                let line = line_in(line)?;
                let (takes_old, takes_new) = (line.sign != Sign::Added, line.sign != Sign::Removed);
                old = old.checked_sub(usize::from(takes_old))?;
                new = new.checked_sub(usize::from(takes_new))?;
                lines.push(line);
            }
            self.advance();
        }
        // `-- ` is how a letter with a patch in it ends.
        let is_line = |line: &str| line.starts_with([' ', '+', '-']) && line != "-- ";
        let more = self.peek().is_some_and(is_line) && !self.at_names();
        (!more).then_some(lines)
    }

    /// Lines for as long as they look like those of a hunk.
    pub(super) fn uncounted(&mut self) -> Result<Vec<Line>> {
        let mut lines: Vec<Line> = Vec::new();
        while let Some(line) = self.peek_whole() {
            if self.at_names() {
                break;
            }
            if line.starts_with('\\') {
                unended(&mut lines).ok_or_else(|| wrong(self.number(), "no line comes before this one"))?;
            } else if let Some(line) = line_in(line) {
                lines.push(line);
            } else {
                break;
            }
            self.advance();
        }
        // Blank lines after a hunk belong to nobody.
        while lines.last().is_some_and(|line| line.sign == Sign::Context && line.text.trim().is_empty()) {
            lines.pop();
        }
        Ok(lines)
    }
}

impl Header {
    fn file(self, strip: Option<usize>) -> Option<FilePatch> {
        let (old, new) = match (self.sides, self.names) {
            (Some(sides), _) => sides,
            (None, Some((old, new))) => (Some(old).filter(|_| !self.is_new), Some(new).filter(|_| !self.is_gone)),
            (None, None) => (None, None),
        };
        let prefixed = |name: &Option<String>, prefix: &str| name.as_ref().is_none_or(|name| name.starts_with(prefix));
        let git_like = prefixed(&old, "a/") && prefixed(&new, "b/");
        let strip = strip.unwrap_or(usize::from(git_like));
        let stripped = |name: Option<String>| name.map(|name| without(&name, strip));
        let renames = self.from.is_some() && self.to.is_some();
        // Names of renames have no prefix to take off.
        let old = self.from.or_else(|| stripped(old));
        let new = self.to.or_else(|| stripped(new));
        Some(FilePatch { old, new, renames, copies: self.copies, mode: self.mode, ..FilePatch::default() })
            .filter(|file| file.old.is_some() || file.new.is_some())
    }
}

/// A line of a hunk. Some writers leave out the space of an empty one.
fn line_in(line: &str) -> Option<Line> {
    let sign = match line.chars().next()? {
        ' ' => Sign::Context,
        '-' => Sign::Removed,
        '+' => Sign::Added,
        '\n' | '\r' => return Some(Line { sign: Sign::Context, text: line.to_owned() }),
        _ => return None,
    };
    let text = &line[1..];
    let text = if text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") };
    Some(Line { sign, text })
}

/// The line before has no newline.
fn unended(lines: &mut [Line]) -> Option<()> {
    lines.last_mut()?.text.pop();
    Some(())
}

/// `@@ -start,count +start,count @@`
fn ranges(header: &str) -> Option<(usize, usize, usize)> {
    let rest = header.strip_prefix("@@ -")?;
    let (ranges, _) = rest.split_once(" @@")?;
    let (old, new) = ranges.split_once(" +")?;
    let range = |text: &str| match text.split_once(',') {
        Some((start, count)) => Some((start.parse().ok()?, count.parse().ok()?)),
        None => Some((text.parse().ok()?, 1)),
    };
    let ((start, old_count), (_, new_count)): ((usize, usize), (usize, usize)) = (range(old)?, range(new)?);
    // An empty range stands after its line.
    Some((if old_count == 0 { start + 1 } else { start }, old_count, new_count))
}

fn mode_in(text: &str, at: usize) -> Result<Option<u32>> {
    match text.trim() {
        "100644" => Ok(Some(0o644)),
        "100755" => Ok(Some(0o755)),
        "120000" => Err(wrong(at, "it makes a link, which these tools do not")),
        other => Err(wrong(at, &format!("{other} is not the mode of a file"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(patch: &str) -> FilePatch {
        let mut files = parse(patch, None).unwrap();
        assert_eq!(files.len(), 1, "{files:?}");
        files.remove(0)
    }

    fn names(patch: &str) -> (Option<String>, Option<String>) {
        let file = one(patch);
        (file.old, file.new)
    }

    #[test]
    fn prefixes_are_taken_off_if_they_are_those_of_git() {
        let body = "@@ -1 +1 @@\n-a\n+b\n";
        assert_eq!(names(&format!("--- a/d/x\n+++ b/d/x\n{body}")), (Some("d/x".to_owned()), Some("d/x".to_owned())));
        assert_eq!(
            names(&format!("--- a/x\t2020-01-01\n+++ a/x\t2020-01-02\n{body}")),
            (Some("a/x".to_owned()), Some("a/x".to_owned()))
        );
        assert_eq!(names(&format!("--- /dev/null\n+++ b/x\n{body}")), (None, Some("x".to_owned())));
        let deep = parse(&format!("--- old/src/x\n+++ new/src/x\n{body}"), Some(1)).unwrap();
        assert_eq!(deep[0].new, Some("src/x".to_owned()));
    }

    #[test]
    fn headers_of_git_are_read() {
        let file = one("diff --git a/x y b/x y\nold mode 100644\nnew mode 100755\n");
        assert_eq!((file.new, file.mode), (Some("x y".to_owned()), Some(0o755)));
        let file = one("diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n");
        assert!(file.renames && file.old == Some("x".to_owned()) && file.new == Some("y".to_owned()));
        assert_eq!(
            names("diff --git \"a/\\303\\274\\n\" \"b/\\303\\274\\n\"\nnew file mode 100644\n"),
            (None, Some("ü\n".to_owned()))
        );
        assert_eq!(names("diff --git a/x b/x\ndeleted file mode 100644\n"), (Some("x".to_owned()), None));
    }

    #[test]
    fn a_removed_line_that_looks_like_a_header_is_a_removed_line() {
        let file = one("--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n--- old\n+++ new\n c\n");
        assert_eq!(file.hunks[0].lines[0], Line { sign: Sign::Removed, text: "-- old\n".into() });
        assert_eq!(file.hunks[0].lines.len(), 3);
    }

    #[test]
    fn wrong_counts_are_counted_again() {
        let file = one("--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n a\n-b\n+c\n\n");
        assert_eq!(file.hunks[0].lines.len(), 3);
        let file = one("--- a/x\n+++ b/x\n@@ -1,1 +1,1 @@\n a\n-b\n+c\n@@ -9 +9 @@\n-d\n+e\n");
        assert_eq!((file.hunks[0].lines.len(), file.hunks[1].lines.len()), (3, 2));
    }

    #[test]
    fn a_letter_around_a_patch_is_not_part_of_it() {
        let file = one("Subject: x\n\n---\n x | 2 +-\n\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n-- \n2.40\n");
        assert_eq!(file.hunks[0].lines.len(), 2);
    }

    #[test]
    fn a_missing_newline_is_missing_from_the_line() {
        let file = one("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n");
        assert_eq!((file.hunks[0].lines[0].text.as_str(), file.hunks[0].lines[1].text.as_str()), ("a", "a\n"));
    }

    #[test]
    fn what_cannot_be_applied_is_refused_with_its_line() {
        for (patch, reason) in [
            ("", "no file"),
            ("@@ -1 +1 @@\n-a\n+b\n", "line 1: a hunk without"),
            ("diff --git a/x b/x\nindex 1..2\nGIT binary patch\n", "line 3: it changes a binary file"),
            ("diff --git a/x b/x\nnew file mode 120000\n", "line 2: it makes a link"),
            ("*** Begin Patch\n*** Delete File: x\n", "\"*** End Patch\" is missing"),
            ("*** Begin Patch\nhello\n*** End Patch\n", "line 2"),
            ("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n... left out: 3 more lines\n", "cut off"),
        ] {
            let error = parse(patch, None).unwrap_err().public.into_owned();
            assert!(error.contains(reason), "{patch}: {error}");
        }
    }

    #[test]
    fn the_other_form_is_read_too() {
        let files = parse(
            "*** Begin Patch\n*** Add File: n\n+a\n+\n*** Update File: x\n*** Move to: y\n@@ fn f() {\n b\n-c\n+d\n\
             *** End of File\n*** Delete File: z\n*** End Patch\n",
            None,
        )
        .unwrap();
        assert_eq!((files[0].new.as_deref(), files[0].hunks[0].lines.len()), (Some("n"), 2));
        assert_eq!((files[1].old.as_deref(), files[1].new.as_deref()), (Some("x"), Some("y")));
        assert_eq!(files[1].hunks[0].anchor.as_deref(), Some("fn f() {"));
        assert_eq!((files[2].old.as_deref(), files[2].new.as_deref()), (Some("z"), None));
    }
}
