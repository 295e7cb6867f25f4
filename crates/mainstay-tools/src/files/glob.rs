//! `files_glob`: finds paths by their names.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::{Arc, Mutex, PoisonError};

use mainstay_core::{Context, Effect, Pace, Result, Spec, Tool};

use super::file_tools::{FileTools, spec};
use crate::progress::{Progress, run_with_progress};
use crate::walk::page::{self, CursorKind};
use crate::walk::{
    Collected, EntryFilter, Globs, PathCollector, ResumePoint, StopSignal, Unread, Visitor, Walk, WalkEntry,
};

/// Names alone decide: no file is opened, and only `sort: mtime` looks at metadata.
pub(crate) struct Glob(pub(crate) FileTools);

#[derive(serde::Deserialize, schemars::JsonSchema)]
pub(crate) struct Args {
    /// Globs relative to `path`, such as `src/**/*.rs` or `*.{toml,lock}`. Without a slash a glob matches names at any
    /// depth; a leading `/` matches only at the top; a leading `!` excludes.
    #[schemars(length(min = 1, max = 100))]
    patterns: Vec<String>,
    /// Directory to search, relative to the workspace.
    #[serde(default = "crate::defaults::workspace_root")]
    path: String,
    /// Kind of entries to return.
    #[serde(default)]
    kind: EntryFilter,
    /// Order: by path, or newest first.
    #[serde(default)]
    sort: Order,
    /// Maximum paths per page.
    #[serde(default = "crate::defaults::number::<usize, 500>")]
    #[schemars(range(min = 1, max = 10000))]
    limit: usize,
    /// `next_cursor` of the previous page.
    cursor: Option<String>,
    /// Also return what `.gitignore` and `.ignore` exclude.
    #[serde(default)]
    ignored: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(crate) enum Order {
    /// By path, name by name.
    #[default]
    Path,
    /// Newest first.
    Mtime,
}

#[derive(Debug, serde::Serialize, schemars::JsonSchema)]
pub(crate) struct Output {
    /// Paths, as other tools take them.
    paths: Vec<String>,
    /// Pass as `cursor` to get the next page; null on the last page.
    next_cursor: Option<String>,
    /// Directories that could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    unread: Option<Unread>,
}

impl Tool for Glob {
    const SPEC: Spec = Spec {
        title: "Find files",
        description: "Finds files of the workspace by name with globs, in pages, by path or newest first. Skips ignored \
                      files unless asked for. Use files_grep to find files by content.",
        pace: Pace::Long,
        ..spec("glob", Effect::Reads)
    };
    type Args = Args;
    type Output = Output;

    async fn call(&self, args: Args, context: &Context) -> Result<Output> {
        let tools = self.0.clone();
        run_with_progress(context, "entries seen", move |progress| glob(&tools, &args, progress)).await
    }
}

fn glob(tools: &FileTools, args: &Args, progress: Progress) -> Result<Output> {
    let globs = Some(Globs::new(&args.patterns, "patterns")?);
    let start = Arc::new(tools.workspace.find(&args.path)?.open_dir()?);
    let limits = tools.page_limits(args.limit);
    let mut walk = Walk {
        globs,
        kind: args.kind,
        resume: None,
        ignored: args.ignored,
        sources_only: false,
        depth: usize::MAX,
        limits,
        progress,
    };
    // Every path that is returned begins with that of the start.
    let above = start.display().len();
    let (found, next_cursor, unread) = match args.sort {
        Order::Path => {
            if let Some(cursor) = &args.cursor {
                let [last] = page::decode(CursorKind::Glob, cursor)?;
                walk.resume = Some(ResumePoint::at(&last, false));
            }
            let Collected { mut list, unread, .. } = walk.run(&start, &PathCollector)?;
            let last = limits.truncate(&mut list, |(path, _)| above + path.len());
            let next_cursor = last.map(|(path, _)| page::encode(CursorKind::Glob, &[path]));
            (list.into_iter().map(|(path, _)| path).collect(), next_cursor, unread)
        }
        Order::Mtime => {
            let after = args.cursor.as_deref().map(read_time_cursor).transpose()?;
            // One more than a page, to know whether there is another page.
            let visitor = NewestCollector { after, most: limits.items + 1, newest: Mutex::default() };
            let unread = walk.run(&start, &visitor)?.unread;
            let newest = visitor.newest.into_inner().unwrap_or_else(PoisonError::into_inner);
            let mut list = newest.into_sorted_vec();
            let next_cursor = limits.truncate(&mut list, |(_, path)| above + path.len()).map(write_time_cursor);
            (list.into_iter().map(|(_, path)| path).collect::<Vec<_>>(), next_cursor, unread)
        }
    };
    let paths = found.iter().map(|path| start.display_child(OsStr::from_bytes(path))).collect();
    Ok(Output { paths, next_cursor, unread: unread.if_any() })
}

/// A path relative to the start, as bytes, after its time: the newest come first, those of the same age by path.
type PathByTime = (Reverse<(i64, u32)>, Vec<u8>);

/// Keeps the newest of all selected paths, and no more than one page of them: the whole tree has to be visited, but a
/// large tree must not fill the memory.
struct NewestCollector {
    /// The last path of the page before.
    after: Option<PathByTime>,
    most: usize,
    newest: Mutex<BinaryHeap<PathByTime>>,
}

impl Visitor for NewestCollector {
    type Worker = ();
    /// None are added: the paths are in the heap.
    type Item = ();
    const PARALLEL_ENTRIES: bool = true;

    fn worker(&self) {}

    fn visit(&self, _worker: &mut (), found: &WalkEntry<'_>, _stop: &StopSignal, _all: &mut Collected<()>) {
        // An entry that was removed since the directory was listed is not found.
        let Ok(metadata) = found.directory.metadata(&found.entry.name) else { return };
        let item = (Reverse(metadata.modified), found.path().as_os_str().as_bytes().to_vec());
        if self.after.as_ref().is_some_and(|after| item <= *after) {
            return;
        }
        // The lock is short: the metadata was read before it.
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        newest.push(item);
        if newest.len() > self.most {
            newest.pop();
        }
    }
}

fn write_time_cursor((Reverse((seconds, nanos)), path): &PathByTime) -> String {
    let (seconds, nanos) = (seconds.to_string(), nanos.to_string());
    page::encode(CursorKind::GlobByTime, &[seconds.as_bytes(), nanos.as_bytes(), path])
}

fn read_time_cursor(cursor: &str) -> Result<PathByTime> {
    let [seconds, nanos, path] = page::decode(CursorKind::GlobByTime, cursor)?;
    Ok((Reverse((page::number(&seconds, cursor)?, page::number(&nanos, cursor)?)), path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::testing::workspace::{SampleWorkspace, field};

    fn args(patterns: &[&str]) -> Args {
        Args {
            patterns: patterns.iter().map(|pattern| (*pattern).to_owned()).collect(),
            path: ".".into(),
            kind: EntryFilter::File,
            sort: Order::Path,
            limit: 500,
            cursor: None,
            ignored: false,
        }
    }

    fn paths(sample: &SampleWorkspace, args: &Args) -> Vec<String> {
        glob(&sample.tools(), args, Progress::default()).unwrap().paths
    }

    fn all_pages(sample: &SampleWorkspace, mut args: Args) -> Vec<String> {
        let mut all = Vec::new();
        loop {
            let page = glob(&sample.tools(), &args, Progress::default()).unwrap();
            assert!(page.paths.len() <= args.limit);
            all.extend(page.paths);
            args.cursor = page.next_cursor;
            if args.cursor.is_none() {
                return all;
            }
        }
    }

    #[tokio::test]
    async fn paths_are_found_by_their_names_and_sorted() {
        let sample = SampleWorkspace::with(&[
            ("src/b.rs", ""),
            ("src/a/x.rs", ""),
            ("src/a-b/y.rs", ""),
            ("c.rs", ""),
            ("d.md", ""),
        ]);
        let out = Glob(sample.tools()).call(args(&["*.rs"]), &Context::detached()).await.unwrap();
        assert_eq!(out.paths, ["c.rs", "src/a/x.rs", "src/a-b/y.rs", "src/b.rs"]);
        assert_eq!(paths(&sample, &args(&["src/*.rs", "d.*"])), ["d.md", "src/b.rs"]);
        let below = Args { path: "src".into(), kind: EntryFilter::Directory, ..args(&["*"]) };
        assert_eq!(paths(&sample, &below), ["src/a", "src/a-b"]);
    }

    #[test]
    fn pages_contain_every_path_once() {
        let sample = SampleWorkspace::with(&[]);
        let mut expected = Vec::new();
        for (a, b) in (0..12).flat_map(|a| (0..12).map(move |b| (a, b))) {
            let path = if b % 3 == 0 { format!("{a:02}/{b:02}/f") } else { format!("{a:02}/{b:02}") };
            sample.write(&path, b"");
            expected.push(path);
        }
        for limit in [1, 7, 1000] {
            let (by_path, by_time) =
                (Args { limit, ..args(&["**"]) }, Args { limit, sort: Order::Mtime, ..args(&["**"]) });
            assert_eq!(all_pages(&sample, by_path), expected);
            let mut found = all_pages(&sample, by_time);
            found.sort();
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn the_newest_come_first() {
        let sample = SampleWorkspace::with(&[("old", ""), ("new", ""), ("middle", "")]);
        for (name, seconds) in [("old", 1), ("middle", 2), ("new", 3)] {
            let file = std::fs::File::open(sample.path().join(name)).unwrap();
            file.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds)).unwrap();
        }
        assert_eq!(paths(&sample, &Args { sort: Order::Mtime, ..args(&["*"]) }), ["new", "middle", "old"]);
        assert_eq!(all_pages(&sample, Args { sort: Order::Mtime, limit: 1, ..args(&["*"]) }), ["new", "middle", "old"]);
    }

    #[test]
    fn ignored_protected_and_linked_paths_are_not_found() {
        let sample = SampleWorkspace::with(&[
            (".gitignore", "out/\n"),
            ("out/a", ""),
            (".env", ""),
            (".git/a", ""),
            ("k/a.pem", ""),
        ]);
        sample.link("..", "k/up");
        sample.link("loop", "loop");
        assert_eq!(paths(&sample, &args(&["**"])), [".gitignore"]);
        assert_eq!(paths(&sample, &Args { ignored: true, ..args(&["**"]) }), [".gitignore", "out/a"]);
        assert_eq!(paths(&sample, &Args { kind: EntryFilter::Symlink, ..args(&["**"]) }), ["k/up", "loop"]);
    }

    #[test]
    fn an_invalid_glob_or_cursor_is_named() {
        let sample = SampleWorkspace::with(&[]);
        let expect_error = |args: &Args| field(&glob(&sample.tools(), args, Progress::default()).unwrap_err());
        assert_eq!(expect_error(&args(&["{a"])), "patterns");
        assert_eq!(expect_error(&Args { cursor: Some("?".into()), ..args(&["*"]) }), "cursor");
        assert_eq!(expect_error(&Args { path: "../".into(), ..args(&["*"]) }), "path");
    }
}
