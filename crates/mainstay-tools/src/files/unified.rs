//! Reading patches: unified diffs, git's as well, and the `*** Begin Patch` form.

use mainstay_core::{Error, Result};

use super::hunk::Hunk;
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
    pub(super) lines: Vec<&'a str>,
    pub(super) at: usize,
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

    pub(super) fn at_names(&self) -> bool {
        self.names_at(self.at)
    }

    pub(super) fn names_at(&self, at: usize) -> bool {
        let starts = |at: usize, with: &str| self.lines.get(at).is_some_and(|line| line.starts_with(with));
        starts(at, "--- ") && starts(at + 1, "+++ ")
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
