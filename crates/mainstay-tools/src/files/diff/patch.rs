//! A patch after it was read, whatever its format.

/// What a patch does to one file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct FilePatch {
    /// The path before; `None` if the file is new.
    pub(crate) old: Option<String>,
    /// The path after; `None` if the file is removed.
    pub(crate) new: Option<String>,
    /// The patch says that the file is renamed or copied. Without this, two different names are two candidates for one
    /// file, as `diff -u` writes them.
    pub(crate) renames: bool,
    /// The old file stays: this is a copy and not a rename.
    pub(crate) copies: bool,
    /// The patch removes the file without showing its content, so the content cannot be checked.
    pub(crate) content_unknown: bool,
    /// The permission bits that the patch sets.
    pub(crate) mode: Option<u32>,
    pub(crate) hunks: Vec<Hunk>,
}

/// A run of lines that are kept, removed or added.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Hunk {
    /// The line of the old file it begins at, from 1, if the patch says so.
    pub(crate) start: Option<usize>,
    /// A line of the file that comes somewhere before it.
    pub(crate) anchor: Option<String>,
    pub(crate) lines: Vec<Line>,
    /// The format cannot say that the last line of a file has no newline: the file keeps the end it has.
    pub(crate) keeps_file_end: bool,
    /// Its line in the patch, for error messages.
    pub(crate) at: usize,
}

/// A line with its line ending.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) sign: Sign,
    pub(crate) text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sign {
    Context,
    Removed,
    Added,
}

impl Line {
    /// Whether the line is in the old file.
    pub(crate) fn is_old(&self) -> bool {
        self.sign != Sign::Added
    }

    /// Whether the line is in the new file.
    pub(crate) fn is_new(&self) -> bool {
        self.sign != Sign::Removed
    }
}
