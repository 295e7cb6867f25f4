//! `files_glob`: finds paths by their names.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::{Mutex, PoisonError};

use mainstay_core::{Context, Effect, Pace, Result, Spec, Tool};
use mainstay_sandbox::{Dir, EntryKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::file_tools::{FileTools, spec};
use super::walk::page::{self, CursorKind};
use super::walk::{Collected, Globs, ResumePoint, StopSignal, Unread, Visitor, Walk, WalkEntry};
use crate::progress::{Progress, run_with_progress};

/// Names alone decide: no file is opened, and only `sort: mtime` looks at metadata.
pub(crate) struct Glob(pub(crate) FileTools);

#[derive(Deserialize, JsonSchema)]
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

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(crate) enum EntryFilter {
    #[default]
    File,
    Directory,
    Symlink,
    Any,
}

impl EntryFilter {
    fn accepts(self, kind: EntryKind) -> bool {
        match self {
            Self::File => kind == EntryKind::File,
            Self::Directory => kind == EntryKind::Directory,
            Self::Symlink => kind == EntryKind::Symlink,
            Self::Any => true,
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(crate) enum Order {
    /// By path, name by name.
    #[default]
    Path,
    /// Newest first.
    Mtime,
}

#[derive(Debug, Serialize, JsonSchema)]
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
    let filter = PathFilter { globs: Globs::new(&args.patterns, "patterns")?, kind: args.kind };
    let start = tools.workspace.find(&args.path)?.open_dir()?;
    let limits = tools.page_limits(args.limit);
    let walk = Walk { resume: None, ignored: args.ignored, depth: usize::MAX, limits, progress };
    match args.sort {
        Order::Path => by_path(args, start, &filter, walk),
        Order::Mtime => newest_first(args, start, filter, &walk),
    }
}

fn by_path(args: &Args, start: Dir, filter: &PathFilter, mut walk: Walk) -> Result<Output> {
    if let Some(cursor) = &args.cursor {
        walk.resume = Some(ResumePoint::at(&page::decode(CursorKind::Glob, cursor, 1)?[0], false));
    }
    let (collected, unread) = walk.run(start, filter)?.into_parts();
    let mut found = collected.list;
    let more = walk.limits.truncate(&mut found, FoundPath::bytes);
    let last = found.last().filter(|_| more);
    let next_cursor = last.map(|last| page::encode(CursorKind::Glob, &[&last.path]));
    let paths = found.into_iter().map(|found| found.shown).collect();
    Ok(Output { paths, next_cursor, unread })
}

/// Collects the selected paths in path order.
struct PathFilter {
    globs: Globs,
    kind: EntryFilter,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct FoundPath {
    /// Relative to the start, as bytes.
    path: Vec<u8>,
    shown: String,
}

impl FoundPath {
    fn of(found: &WalkEntry<'_>) -> Self {
        Self { path: found.path().as_os_str().as_bytes().to_vec(), shown: found.display() }
    }

    fn bytes(&self) -> usize {
        self.shown.len()
    }
}

impl Visitor for PathFilter {
    type Worker = ();
    type Collector = Collected<FoundPath>;
    const PARALLEL_ENTRIES: bool = false;

    fn worker(&self) {}

    fn wants(&self, found: &WalkEntry<'_>) -> bool {
        self.kind.accepts(found.entry.kind) && self.globs.matches(found.path(), found.is_directory())
    }

    fn enters(&self, found: &WalkEntry<'_>) -> bool {
        self.globs.may_contain_match(found.path())
    }

    fn visit(&self, _worker: &mut (), found: &WalkEntry<'_>, _stop: &StopSignal, paths: &mut Collected<FoundPath>) {
        let path = FoundPath::of(found);
        let bytes = path.bytes();
        paths.add(path, bytes);
    }
}

/// Newest first.
type ByTime = Reverse<(i64, u32)>;

/// Keeps the newest of all selected paths, and no more than one page of them: the whole tree has to be visited, but a
/// large tree must not fill the memory. Paths of the same age are ordered by path.
struct NewestFilter {
    filter: PathFilter,
    /// The last path of the page before.
    after: Option<(ByTime, Vec<u8>)>,
    most: usize,
    newest: Mutex<BinaryHeap<(ByTime, FoundPath)>>,
}

impl Visitor for NewestFilter {
    type Worker = ();
    /// Stays empty: the paths are in the heap.
    type Collector = Collected<FoundPath>;
    const PARALLEL_ENTRIES: bool = true;

    fn worker(&self) {}

    fn wants(&self, found: &WalkEntry<'_>) -> bool {
        self.filter.wants(found)
    }

    fn enters(&self, found: &WalkEntry<'_>) -> bool {
        self.filter.enters(found)
    }

    fn visit(&self, _worker: &mut (), found: &WalkEntry<'_>, _stop: &StopSignal, _paths: &mut Collected<FoundPath>) {
        // An entry that was removed since the directory was listed is not found.
        let Ok(metadata) = found.directory.metadata(&found.entry.name) else { return };
        let item = (Reverse(metadata.modified), FoundPath::of(found));
        if self.after.as_ref().is_some_and(|(time, path)| (&item.0, &item.1.path) <= (time, path)) {
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

fn newest_first(args: &Args, start: Dir, filter: PathFilter, walk: &Walk) -> Result<Output> {
    let after = args.cursor.as_deref().map(read_time_cursor).transpose()?;
    // One more than a page, to know whether there is another page.
    let visitor = NewestFilter { filter, after, most: walk.limits.items + 1, newest: Mutex::default() };
    let (_, unread) = walk.run(start, &visitor)?.into_parts();
    let newest = visitor.newest.into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut found = newest.into_sorted_vec();
    let more = walk.limits.truncate(&mut found, |(_, found)| found.bytes());
    let last = found.last().filter(|_| more);
    let next_cursor = last.map(|(Reverse((seconds, nanos)), found)| {
        let (seconds, nanos) = (seconds.to_string(), nanos.to_string());
        page::encode(CursorKind::GlobByTime, &[seconds.as_bytes(), nanos.as_bytes(), &found.path])
    });
    let paths = found.into_iter().map(|(_, found)| found.shown).collect();
    Ok(Output { paths, next_cursor, unread })
}

fn read_time_cursor(cursor: &str) -> Result<(ByTime, Vec<u8>)> {
    let mut parts = page::decode(CursorKind::GlobByTime, cursor, 3)?;
    let path = parts.pop().unwrap_or_default();
    Ok((Reverse((page::number(&parts[0], cursor)?, page::number(&parts[1], cursor)?)), path))
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
