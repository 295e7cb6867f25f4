//! `files_list`: what is in one directory.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::sync::Arc;

use mainstay_core::{Context, Effect, Pace, Result, Spec, Tool};
use mainstay_sandbox::{Dir, Entry, EntryKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::page::{self, Of};
use super::walk::{Rules, Trail, here};
use super::{Desk, blocking, facts};

pub(crate) struct List(pub(crate) Desk);

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// The directory, relative to the workspace.
    #[serde(default = "here")]
    path: String,
    /// The `next_cursor` of the page before.
    cursor: Option<String>,
    /// How many entries one page has at most.
    #[serde(default = "usual_limit")]
    #[schemars(range(min = 1, max = 1000))]
    limit: usize,
    /// Whether to list names that begin with a dot.
    #[serde(default = "crate::yes")]
    hidden: bool,
    /// Whether to list what `.gitignore` and `.ignore` leave out.
    #[serde(default)]
    ignored: bool,
}

fn usual_limit() -> usize {
    200
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    /// The directory.
    path: String,
    /// Directories first, then everything else, each by name.
    entries: Vec<Listed>,
    /// Give it back as `cursor` for the next page; null on the last one.
    next_cursor: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Listed {
    /// The name in the directory.
    name: String,
    /// The path, as it can be given to other tools.
    path: String,
    /// What it is: a directory, a file, a symlink, or something other.
    kind: EntryKind,
    /// Bytes of a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    /// When it was last modified, in ISO-8601.
    #[serde(skip_serializing_if = "Option::is_none")]
    mtime: Option<String>,
    /// It is there, and nothing of it may be seen.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    protected: bool,
}

impl Tool for List {
    const SPEC: Spec = Spec {
        title: "List Directory",
        description: "Lists one directory of the workspace with kind, size and time of each entry, in pages. What the \
                      project ignores is left out unless asked for. Use files_tree to see several levels at once.",
        pace: Pace::Instant,
        tags: &["fs"],
        ..Spec::new("files", "list", Effect::Reads)
    };
    type Args = Args;
    type Output = Output;

    async fn call(&self, args: Args, _context: &Context) -> Result<Output> {
        let desk = self.0.clone();
        blocking(move || list(&desk, &args)).await
    }
}

/// The order of a listing.
type Position = (bool, OsString);

fn position(entry: &Entry) -> Position {
    (entry.kind != EntryKind::Directory, entry.name.clone())
}

fn list(desk: &Desk, args: &Args) -> Result<Output> {
    let since = args.cursor.as_deref().map(read_cursor).transpose()?;
    let directory = desk.workspace.find(&args.path)?.open_dir()?;
    let mut entries = seen(&directory, args)?;
    entries.retain(|entry| since.as_ref().is_none_or(|since| position(entry) > *since));
    entries.sort_by_cached_key(position);
    let next_cursor = match entries.get(args.limit.saturating_sub(1)) {
        Some(last) if entries.len() > args.limit => Some(cursor(last)),
        Some(_) | None => None,
    };
    entries.truncate(args.limit);
    let entries = entries.iter().filter_map(|entry| listed(&directory, entry)).collect();
    Ok(Output { path: directory.display(), entries, next_cursor })
}

fn seen(directory: &Dir, args: &Args) -> Result<Vec<Entry>> {
    let mut entries = directory.entries()?;
    let rules = if args.ignored { Arc::default() } else { Rules::above(directory).within(directory, &entries) };
    let mut trail = Trail::new(directory);
    entries.retain(|entry| {
        let ignored = rules.ignore(trail.to(&entry.name), entry.kind == EntryKind::Directory);
        !ignored && (args.hidden || !entry.name.as_bytes().starts_with(b"."))
    });
    Ok(entries)
}

/// `None` if it has gone since the directory was read.
fn listed(directory: &Dir, entry: &Entry) -> Option<Listed> {
    let facts = if entry.protected { None } else { Some(directory.metadata(&entry.name).ok()?) };
    Some(Listed {
        name: entry.name.display().to_string(),
        path: directory.display_child(&entry.name),
        kind: facts.map_or(entry.kind, |facts| facts.kind),
        size: facts.filter(|facts| facts.kind == EntryKind::File).map(|facts| facts.size),
        mtime: facts.map(|facts| facts::modified(&facts)),
        protected: entry.protected,
    })
}

fn cursor(last: &Entry) -> String {
    let (after_directories, name) = position(last);
    page::encode(Of::List, &[if after_directories { b"1" } else { b"0" }, name.as_bytes()])
}

fn read_cursor(cursor: &str) -> Result<Position> {
    let mut parts = page::decode(Of::List, cursor, 2)?;
    let name = OsString::from_vec(parts.pop().unwrap_or_default());
    let after_directories = page::number::<u8>(&parts[0], cursor)? == 1;
    Ok((after_directories, name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::sample::{Sample, field};
    use mainstay_core::Kind;

    fn args(path: &str) -> Args {
        Args { path: path.into(), cursor: None, limit: 200, hidden: true, ignored: false }
    }

    fn names(output: &Output) -> Vec<&str> {
        output.entries.iter().map(|entry| entry.name.as_str()).collect()
    }

    #[tokio::test]
    async fn directories_come_first_and_each_entry_has_its_facts() {
        let sample = Sample::with(&[("b.txt", "123"), ("a.txt", ""), ("z/in", "")]);
        let out = List(sample.desk()).call(args("."), &Context::detached()).await.unwrap();
        assert_eq!(names(&out), ["z", "a.txt", "b.txt"]);
        assert_eq!((out.entries[2].size, out.entries[0].size), (Some(3), None));
        assert!(out.entries.iter().all(|entry| entry.mtime.is_some()));
        let below = list(&sample.desk(), &args("z")).unwrap();
        assert_eq!((below.path.as_str(), below.entries[0].path.as_str()), ("z", "z/in"));
    }

    #[test]
    fn a_protected_entry_is_named_and_nothing_else_is_told_of_it() {
        let sample = Sample::with(&[(".env", "SECRET=1"), (".git/config", "")]);
        let out = list(&sample.desk(), &args(".")).unwrap();
        assert_eq!(names(&out), [".git", ".env"]);
        assert!(out.entries.iter().all(|entry| entry.protected && entry.size.is_none() && entry.mtime.is_none()));
        assert_eq!(list(&sample.desk(), &args(".git")).unwrap_err().kind, Kind::Denied);
    }

    #[test]
    fn what_the_project_ignores_is_there_if_asked_for() {
        let sample =
            Sample::with(&[(".gitignore", "/target\n*.log\n"), ("target/x", ""), ("a.log", ""), ("sub/b.log", "")]);
        assert_eq!(names(&list(&sample.desk(), &args(".")).unwrap()), ["sub", ".gitignore"]);
        assert!(list(&sample.desk(), &args("sub")).unwrap().entries.is_empty());
        assert_eq!(names(&list(&sample.desk(), &args("target")).unwrap()), ["x"]);
        let all = Args { ignored: true, hidden: false, ..args(".") };
        assert_eq!(names(&list(&sample.desk(), &all).unwrap()), ["sub", "target", "a.log"]);
    }

    #[test]
    fn pages_hold_every_entry_once_while_others_come_and_go() {
        let sample = Sample::with(&[]);
        for index in 0..25 {
            sample.write(format!("f{index:02}"), b"");
            sample.write(format!("d{index:02}/x"), b"");
        }
        let (mut cursor, mut seen) = (None, Vec::new());
        loop {
            let page = list(&sample.desk(), &Args { cursor, limit: 7, ..args(".") }).unwrap();
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
    fn a_name_that_is_no_text_and_a_pipe_are_listed() {
        let sample = Sample::with(&[]);
        sample.write(OsString::from_vec(b"a\xff".to_vec()), b"1");
        sample.pipe("pipe");
        sample.link(".", "loop");
        let out = list(&sample.desk(), &args(".")).unwrap();
        assert_eq!(names(&out), ["a\u{fffd}", "loop", "pipe"]);
        assert_eq!(out.entries[2].kind, EntryKind::Other);
    }

    #[test]
    fn a_file_and_a_foreign_cursor_are_refused() {
        let sample = Sample::with(&[("f", "")]);
        assert_eq!(field(&list(&sample.desk(), &args("f")).unwrap_err()), "path");
        let foreign = Args { cursor: Some("x".into()), ..args(".") };
        assert_eq!(field(&list(&sample.desk(), &foreign).unwrap_err()), "cursor");
    }
}
