//! Parses unified diffs, as `diff -u` and git write them, and recognizes the `*** Begin Patch` format.

use mainstay_core::Result;

use crate::diff::begin_patch;
use crate::diff::patch::{FilePatch, Reader, parse_error};
use crate::diff::quoted_path::{parse_git_paths, parse_path, strip_components};

/// Parses a patch. `strip` is how many leading components to remove from each path; `None` removes git's `a/` and `b/`.
pub(crate) fn parse(patch: &str, strip: Option<usize>) -> Result<Vec<FilePatch>> {
    let mut reader = Reader::new(patch);
    let files = if patch.lines().any(|line| line.trim_end() == "*** Begin Patch") {
        reader.skip_past("*** Begin Patch");
        begin_patch::parse(&mut reader)?
    } else {
        reader.files(strip)?
    };
    if files.is_empty() {
        return Err(parse_error(0, "it names no file; a unified diff begins with \"--- a/path\" and \"+++ b/path\""));
    }
    Ok(files)
}

/// What the patch says about a file before its hunks.
#[derive(Default)]
struct Header {
    /// The paths in the `diff --git` line.
    git_paths: Option<(String, String)>,
    /// The paths in the `---` and `+++` lines; `None` stands for `/dev/null`.
    sides: Option<(Option<String>, Option<String>)>,
    /// The paths of a rename or a copy.
    from: Option<String>,
    to: Option<String>,
    copies: bool,
    is_new: bool,
    is_removed: bool,
    mode: Option<u32>,
}

impl Reader<'_> {
    fn files(&mut self, strip: Option<usize>) -> Result<Vec<FilePatch>> {
        let mut files = Vec::new();
        // Text between files is a commit message or the like.
        while let Some(line) = self.peek() {
            // A plain unified diff has no `diff` line: its files begin with `---` and `+++`.
            if line.starts_with("diff --git ") || self.at_file_header() {
                files.push(self.file(strip)?);
            } else if line.starts_with("@@ -") {
                return Err(self.error("there is a hunk without \"---\" and \"+++\" lines before it"));
            } else if line.starts_with("... left out: ") {
                return Err(self.error("this diff is truncated; get the whole diff"));
            } else {
                self.advance();
            }
        }
        Ok(files)
    }

    fn file(&mut self, strip: Option<usize>) -> Result<FilePatch> {
        let begins = self.line_number();
        let mut header = Header::default();
        if self.peek().is_some_and(|line| line.starts_with("diff --git ")) {
            self.git_header(&mut header)?;
        }
        // Missing for a rename, a change of the mode or an empty file.
        if self.at_file_header() {
            header.sides = Some((self.side(), self.side()));
        }
        let mut file = header.file(strip).ok_or_else(|| parse_error(begins, "it does not name a file"))?;
        while self.peek().is_some_and(|line| line.starts_with("@@")) {
            file.hunks.push(self.hunk()?);
        }
        Ok(file)
    }

    /// The path in a `---` or `+++` line.
    fn side(&mut self) -> Option<String> {
        let name = self.peek()?.get(4..).and_then(parse_path);
        self.advance();
        name.filter(|name| name != "/dev/null")
    }

    fn git_header(&mut self, header: &mut Header) -> Result<()> {
        let line = self.peek().unwrap_or_default();
        header.git_paths = parse_git_paths(line.strip_prefix("diff --git ").unwrap_or_default());
        self.advance();
        while let Some(line) = self.peek() {
            let value = |prefix: &str| line.strip_prefix(prefix);
            if let Some(name) = value("rename from ").or_else(|| value("copy from ")) {
                header.from = parse_path(name);
                header.copies = line.starts_with("copy");
            } else if let Some(name) = value("rename to ").or_else(|| value("copy to ")) {
                header.to = parse_path(name);
            } else if let Some(mode) = value("new file mode ") {
                header.is_new = true;
                header.mode = parse_mode(mode, self.line_number())?;
            // The mode of a removed file is not checked: only the executable bit is known of it.
            } else if value("deleted file mode ").is_some() {
                header.is_removed = true;
            } else if let Some(mode) = value("new mode ") {
                header.mode = parse_mode(mode, self.line_number())?;
            } else if line.starts_with("GIT binary patch") || line.starts_with("Binary files ") {
                return Err(self.error("it changes a binary file; use files_write with content_base64"));
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

/// Which file is meant, from whatever the header says.
impl Header {
    fn file(self, strip: Option<usize>) -> Option<FilePatch> {
        let (old, new) = match (self.sides, self.git_paths) {
            (Some(sides), _) => sides,
            (None, Some((old, new))) => (Some(old).filter(|_| !self.is_new), Some(new).filter(|_| !self.is_removed)),
            (None, None) => (None, None),
        };
        // Both sides have to look like git's: a directory may really be called `a`.
        let prefixed = |name: &Option<String>, prefix: &str| name.as_ref().is_none_or(|name| name.starts_with(prefix));
        let git_like = prefixed(&old, "a/") && prefixed(&new, "b/");
        // As `git apply -p1` does by default, and `patch -p0` for other diffs.
        let strip = strip.unwrap_or(usize::from(git_like));
        let stripped = |name: Option<String>| name.map(|name| strip_components(&name, strip));
        let renames = self.from.is_some() && self.to.is_some();
        // The paths of a rename have no a/ or b/ prefix.
        let old = self.from.or_else(|| stripped(old));
        let new = self.to.or_else(|| stripped(new));
        Some(FilePatch { old, new, renames, copies: self.copies, mode: self.mode, ..FilePatch::default() })
            .filter(|file| file.old.is_some() || file.new.is_some())
    }
}

/// Git has only two modes for files; a link or a submodule cannot be applied.
fn parse_mode(text: &str, at: usize) -> Result<Option<u32>> {
    match text.trim() {
        "100644" => Ok(Some(0o644)),
        "100755" => Ok(Some(0o755)),
        "120000" => Err(parse_error(at, "it creates a symbolic link, which is not supported")),
        other => Err(parse_error(at, &format!("{other} is not a file mode"))),
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
    fn the_prefixes_of_git_are_removed_from_paths() {
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
    fn git_headers_are_parsed() {
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
    fn what_cannot_be_parsed_is_rejected_with_its_line() {
        for (patch, reason) in [
            ("", "no file"),
            ("@@ -1 +1 @@\n-a\n+b\n", "line 1: there is a hunk without"),
            ("diff --git a/x b/x\nindex 1..2\nGIT binary patch\n", "line 3: it changes a binary file"),
            ("diff --git a/x b/x\nnew file mode 120000\n", "line 2: it creates a symbolic link"),
            ("*** Begin Patch\n*** Delete File: x\n", "\"*** End Patch\" is missing"),
            ("*** Begin Patch\nhello\n*** End Patch\n", "line 2"),
            ("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n... left out: 3 more lines\n", "truncated"),
        ] {
            let error = parse(patch, None).unwrap_err().public.into_owned();
            assert!(error.contains(reason), "{patch}: {error}");
        }
    }

    #[test]
    fn the_begin_patch_format_is_parsed_too() {
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
