//! `files_list`: lists one directory.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::sync::Arc;

use mainstay_core::{Context, Effect, Result, Spec, Tool};
use mainstay_sandbox::{Dir, Entry, EntryKind};

use super::file_tools::{FileTools, spec};
use crate::text::modified;
use crate::walk::page::{self, CursorKind, PageLimits};
use crate::walk::{IgnoreRules, PathBuffer};

/// Reads the whole directory for every page: a directory handle cannot be kept between calls.
pub(crate) struct List(pub(crate) FileTools);

#[derive(serde::Deserialize, schemars::JsonSchema)]
pub(crate) struct Args {
    /// Directory, relative to the workspace.
    #[serde(default = "crate::defaults::workspace_root")]
    path: String,
    /// `next_cursor` of the previous page.
    cursor: Option<String>,
    /// Maximum entries per page.
    #[serde(default = "crate::defaults::number::<usize, 200>")]
    #[schemars(range(min = 1, max = 1000))]
    limit: usize,
    /// Include names that begin with a dot.
    #[serde(default = "crate::defaults::yes")]
    hidden: bool,
    /// Include what `.gitignore` and `.ignore` exclude.
    #[serde(default)]
    ignored: bool,
}

#[derive(Debug, serde::Serialize, schemars::JsonSchema)]
pub(crate) struct Output {
    /// Path of the directory.
    path: String,
    /// Directories first, then everything else, sorted by name.
    entries: Vec<ListedEntry>,
    /// Pass as `cursor` to get the next page; null on the last page.
    next_cursor: Option<String>,
}

#[derive(Debug, serde::Serialize, schemars::JsonSchema)]
pub(crate) struct ListedEntry {
    /// Name in the directory.
    name: String,
    /// Path, as other tools take it.
    path: String,
    /// Directory, file, symlink or other.
    kind: EntryKind,
    /// Size of a file in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    /// Modification time, ISO 8601.
    #[serde(skip_serializing_if = "Option::is_none")]
    mtime: Option<String>,
    /// The entry exists, but may not be read or changed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    protected: bool,
}

impl Tool for List {
    const SPEC: Spec = Spec {
        title: "List directory",
        description: "Lists one directory of the workspace with kind, size and modification time of each entry, in \
                      pages. Skips ignored files unless asked for. Use files_tree for several levels.",
        ..spec("list", Effect::Reads)
    };
    type Args = Args;
    type Output = Output;

    async fn call(&self, args: Args, _context: &Context) -> Result<Output> {
        let tools = self.0.clone();
        crate::progress::blocking(move || list(&tools, &args)).await
    }
}

/// The sort key of a listing, which is also its cursor: directories first, then by name.
type Position = (bool, OsString);

fn position(entry: &Entry) -> Position {
    (entry.kind != EntryKind::Directory, entry.name.clone())
}

fn list(tools: &FileTools, args: &Args) -> Result<Output> {
    let after = args.cursor.as_deref().map(read_cursor).transpose()?;
    let directory = tools.workspace.find(&args.path)?.open_dir()?;
    let mut entries = visible_entries(&directory, args)?;
    // Filtered before sorting: the last pages of a large directory are cheap to sort.
    entries.retain(|entry| after.as_ref().is_none_or(|after| position(entry) > *after));
    entries.sort_by_cached_key(position);
    let limits = PageLimits { items: args.limit, bytes: usize::MAX };
    let next_cursor = limits.truncate(&mut entries, |_| 0).map(write_cursor);
    let entries = entries.iter().filter_map(|entry| describe(&directory, entry)).collect();
    Ok(Output { path: directory.display(), entries, next_cursor })
}

fn visible_entries(directory: &Dir, args: &Args) -> Result<Vec<Entry>> {
    let mut entries = directory.entries()?;
    let rules = if args.ignored {
        Arc::default()
    } else {
        IgnoreRules::of_ancestors(directory).extended_by(directory, &entries)
    };
    let mut path = PathBuffer::new(directory);
    entries.retain(|entry| {
        let ignored = rules.ignore(path.join(&entry.name), entry.kind == EntryKind::Directory);
        !ignored && (args.hidden || !entry.name.as_bytes().starts_with(b"."))
    });
    Ok(entries)
}

/// `None` if the entry was removed after the directory was read.
fn describe(directory: &Dir, entry: &Entry) -> Option<ListedEntry> {
    let metadata = if entry.protected { None } else { Some(directory.metadata(&entry.name).ok()?) };
    Some(ListedEntry {
        name: entry.name.display().to_string(),
        path: directory.display_child(&entry.name),
        kind: metadata.map_or(entry.kind, |metadata| metadata.kind),
        size: metadata.filter(|metadata| metadata.kind == EntryKind::File).map(|metadata| metadata.size),
        mtime: metadata.map(|metadata| modified(&metadata)),
        protected: entry.protected,
    })
}

fn write_cursor(last: &Entry) -> String {
    let (after_directories, name) = position(last);
    page::encode(CursorKind::List, &[if after_directories { b"1" } else { b"0" }, name.as_bytes()])
}

fn read_cursor(cursor: &str) -> Result<Position> {
    let [after_directories, name] = page::decode(CursorKind::List, cursor)?;
    Ok((page::number::<u8>(&after_directories, cursor)? == 1, OsString::from_vec(name)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::testing::workspace::{SampleWorkspace, field};
    use mainstay_core::Kind;

    fn args(path: &str) -> Args {
        Args { path: path.into(), cursor: None, limit: 200, hidden: true, ignored: false }
    }

    fn names(output: &Output) -> Vec<&str> {
        output.entries.iter().map(|entry| entry.name.as_str()).collect()
    }

    #[tokio::test]
    async fn directories_come_first_and_each_entry_has_metadata() {
        let sample = SampleWorkspace::with(&[("b.txt", "123"), ("a.txt", ""), ("z/in", "")]);
        let out = List(sample.tools()).call(args("."), &Context::detached()).await.unwrap();
        assert_eq!(names(&out), ["z", "a.txt", "b.txt"]);
        assert_eq!((out.entries[2].size, out.entries[0].size), (Some(3), None));
        assert!(out.entries.iter().all(|entry| entry.mtime.is_some()));
        let below = list(&sample.tools(), &args("z")).unwrap();
        assert_eq!((below.path.as_str(), below.entries[0].path.as_str()), ("z", "z/in"));
    }

    #[test]
    fn a_protected_entry_is_listed_without_metadata() {
        let sample = SampleWorkspace::with(&[(".env", "SECRET=1"), (".git/config", "")]);
        let out = list(&sample.tools(), &args(".")).unwrap();
        assert_eq!(names(&out), [".git", ".env"]);
        assert!(out.entries.iter().all(|entry| entry.protected && entry.size.is_none() && entry.mtime.is_none()));
        assert_eq!(list(&sample.tools(), &args(".git")).unwrap_err().kind, Kind::Denied);
    }

    #[test]
    fn ignored_files_are_listed_if_asked_for() {
        let sample = SampleWorkspace::with(&[
            (".gitignore", "/target\n*.log\n"),
            ("target/x", ""),
            ("a.log", ""),
            ("sub/b.log", ""),
        ]);
        assert_eq!(names(&list(&sample.tools(), &args(".")).unwrap()), ["sub", ".gitignore"]);
        assert!(list(&sample.tools(), &args("sub")).unwrap().entries.is_empty());
        assert_eq!(names(&list(&sample.tools(), &args("target")).unwrap()), ["x"]);
        let all = Args { ignored: true, hidden: false, ..args(".") };
        assert_eq!(names(&list(&sample.tools(), &all).unwrap()), ["sub", "target", "a.log"]);
    }

    #[test]
    fn pages_contain_every_entry_once_while_others_change() {
        let sample = SampleWorkspace::with(&[]);
        for index in 0..25 {
            sample.write(format!("f{index:02}"), b"");
            sample.write(format!("d{index:02}/x"), b"");
        }
        let (mut cursor, mut seen) = (None, Vec::new());
        loop {
            let page = list(&sample.tools(), &Args { cursor, limit: 7, ..args(".") }).unwrap();
            assert!(page.entries.len() <= 7);
            seen.extend(page.entries.into_iter().map(|entry| entry.name));
            cursor = page.next_cursor;
            if cursor.is_none() {
                break;
            }
            sample.write(format!("a{}", seen.len()), b"");
            let _ = std::fs::remove_file(sample.path().join(seen.last().unwrap()));
        }
        seen.retain(|name| !name.starts_with('a'));
        let expected: Vec<_> = (0..25).map(|i| format!("d{i:02}")).chain((0..25).map(|i| format!("f{i:02}"))).collect();
        assert_eq!(seen, expected);
    }

    #[test]
    fn a_name_that_is_not_utf8_and_a_pipe_are_listed() {
        let sample = SampleWorkspace::with(&[]);
        sample.write(OsString::from_vec(b"a\xff".to_vec()), b"1");
        sample.pipe("pipe");
        sample.link(".", "loop");
        let out = list(&sample.tools(), &args(".")).unwrap();
        assert_eq!(names(&out), ["a\u{fffd}", "loop", "pipe"]);
        assert_eq!(out.entries[2].kind, EntryKind::Other);
    }

    #[test]
    fn a_file_and_a_foreign_cursor_are_rejected() {
        let sample = SampleWorkspace::with(&[("f", "")]);
        assert_eq!(field(&list(&sample.tools(), &args("f")).unwrap_err()), "path");
        let foreign = Args { cursor: Some("x".into()), ..args(".") };
        assert_eq!(field(&list(&sample.tools(), &foreign).unwrap_err()), "cursor");
    }
}
