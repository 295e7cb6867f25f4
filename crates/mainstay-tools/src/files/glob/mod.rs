//! `files_glob`: paths by their names.

mod newest;

use std::os::unix::ffi::OsStrExt as _;

use mainstay_core::{Context, Effect, Pace, Result, Spec, Tool};
use mainstay_sandbox::{Dir, EntryKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Desk;
use super::page::{self, Of, Size};
use super::walk::{Globs, Pile, Seen, Since, Stop, Unread, Visit, Walk, here};
use crate::progress::{Progress, watched};

pub(crate) struct Glob(pub(crate) Desk);

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// Globs, as in `src/**/*.rs` or `*.{toml,lock}`, told from `path`. One without a slash matches names at any
    /// depth; one that begins with `/` only at the top; one that begins with `!` takes away.
    #[schemars(length(min = 1, max = 100))]
    patterns: Vec<String>,
    /// The directory to look in, relative to the workspace.
    #[serde(default = "here")]
    path: String,
    /// What to return.
    #[serde(default)]
    kind: Wanted,
    /// In which order.
    #[serde(default)]
    sort: Order,
    /// How many paths one page has at most.
    #[serde(default = "usual_limit")]
    #[schemars(range(min = 1, max = 10000))]
    limit: usize,
    /// The `next_cursor` of the page before.
    cursor: Option<String>,
    /// Whether to look at what `.gitignore` and `.ignore` leave out.
    #[serde(default)]
    ignored: bool,
}

fn usual_limit() -> usize {
    500
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(crate) enum Wanted {
    #[default]
    File,
    Directory,
    Symlink,
    Any,
}

impl Wanted {
    fn is(self, kind: EntryKind) -> bool {
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
    /// The newest first.
    Mtime,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    /// The paths, as they can be given to other tools.
    paths: Vec<String>,
    /// Give it back as `cursor` for the next page; null on the last one.
    next_cursor: Option<String>,
    /// Directories that could not be read, if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    unread: Option<Unread>,
}

impl Tool for Glob {
    const SPEC: Spec = Spec {
        title: "Find Files",
        description: "Finds files of the workspace by glob, in pages, by path or newest first. What the project ignores \
                      is left out unless asked for. Use it when you know what a file is called, and files_grep when you \
                      know what is in it.",
        pace: Pace::Long,
        tags: &["fs"],
        ..Spec::new("files", "glob", Effect::Reads)
    };
    type Args = Args;
    type Output = Output;

    async fn call(&self, args: Args, context: &Context) -> Result<Output> {
        let desk = self.0.clone();
        watched(context, "entries seen", move |progress| glob(&desk, &args, progress)).await
    }
}

fn glob(desk: &Desk, args: &Args, progress: Progress) -> Result<Output> {
    let globs = Globs::new(&args.patterns, "patterns")?;
    let start = desk.workspace.find(&args.path)?.open_dir()?;
    let size = Size { items: args.limit, bytes: usize::try_from(desk.read_bytes).unwrap_or(usize::MAX) };
    let walk = Walk { since: None, ignored: args.ignored, depth: usize::MAX, size, progress };
    match args.sort {
        Order::Path => by_path(args, start, globs, walk),
        Order::Mtime => newest::page_of(args, start, globs, &walk),
    }
}

fn by_path(args: &Args, start: Dir, globs: Globs, mut walk: Walk) -> Result<Output> {
    if let Some(cursor) = &args.cursor {
        walk.since = Some(Since::path(&page::decode(Of::Glob, cursor, 1)?[0], false));
    }
    let (caught, unread) = walk.run(start, &ByPath { globs, wanted: args.kind })?.into_parts();
    let mut found = caught.things;
    let more = walk.size.cut(&mut found, Found::bytes);
    let last = found.last().filter(|_| more);
    let next_cursor = last.map(|last| page::encode(Of::Glob, &[&last.path]));
    let paths = found.into_iter().map(|found| found.shown).collect();
    Ok(Output { paths, next_cursor, unread })
}

struct ByPath {
    globs: Globs,
    wanted: Wanted,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Found {
    /// From the start, as bytes.
    path: Vec<u8>,
    shown: String,
}

impl Found {
    fn of(seen: &Seen<'_>) -> Self {
        Self { path: seen.path().as_os_str().as_bytes().to_vec(), shown: seen.shown() }
    }

    fn bytes(&self) -> usize {
        self.shown.len()
    }
}

impl Visit for ByPath {
    type Kit = ();
    type Catch = Pile<Found>;
    const SHARED: bool = false;

    fn kit(&self) {}

    fn wants(&self, seen: &Seen<'_>) -> bool {
        self.wanted.is(seen.entry.kind) && self.globs.mean(seen.path(), seen.is_directory())
    }

    fn enters(&self, seen: &Seen<'_>) -> bool {
        self.globs.lead_into(seen.path())
    }

    fn visit(&self, _kit: &mut (), seen: &Seen<'_>, _stop: &Stop, caught: &mut Pile<Found>) {
        let found = Found::of(seen);
        let bytes = found.bytes();
        caught.add(found, bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::sample::{Sample, field};

    fn args(patterns: &[&str]) -> Args {
        Args {
            patterns: patterns.iter().map(|pattern| (*pattern).to_owned()).collect(),
            path: ".".into(),
            kind: Wanted::File,
            sort: Order::Path,
            limit: 500,
            cursor: None,
            ignored: false,
        }
    }

    fn paths(sample: &Sample, args: &Args) -> Vec<String> {
        glob(&sample.desk(), args, Progress::default()).unwrap().paths
    }

    fn all_pages(sample: &Sample, mut args: Args) -> Vec<String> {
        let mut all = Vec::new();
        loop {
            let page = glob(&sample.desk(), &args, Progress::default()).unwrap();
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
        let sample =
            Sample::with(&[("src/b.rs", ""), ("src/a/x.rs", ""), ("src/a-b/y.rs", ""), ("c.rs", ""), ("d.md", "")]);
        let out = Glob(sample.desk()).call(args(&["*.rs"]), &Context::detached()).await.unwrap();
        assert_eq!(out.paths, ["c.rs", "src/a/x.rs", "src/a-b/y.rs", "src/b.rs"]);
        assert_eq!(paths(&sample, &args(&["src/*.rs", "d.*"])), ["d.md", "src/b.rs"]);
        let below = Args { path: "src".into(), kind: Wanted::Directory, ..args(&["*"]) };
        assert_eq!(paths(&sample, &below), ["src/a", "src/a-b"]);
    }

    #[test]
    fn pages_hold_every_path_once() {
        let sample = Sample::with(&[]);
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
        let sample = Sample::with(&[("old", ""), ("new", ""), ("middle", "")]);
        for (name, seconds) in [("old", 1), ("middle", 2), ("new", 3)] {
            let file = std::fs::File::open(sample.path().join(name)).unwrap();
            file.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds)).unwrap();
        }
        assert_eq!(paths(&sample, &Args { sort: Order::Mtime, ..args(&["*"]) }), ["new", "middle", "old"]);
        assert_eq!(all_pages(&sample, Args { sort: Order::Mtime, limit: 1, ..args(&["*"]) }), ["new", "middle", "old"]);
    }

    #[test]
    fn what_is_ignored_protected_or_behind_a_link_is_not_found() {
        let sample =
            Sample::with(&[(".gitignore", "out/\n"), ("out/a", ""), (".env", ""), (".git/a", ""), ("k/a.pem", "")]);
        sample.link("..", "k/up");
        sample.link("loop", "loop");
        assert_eq!(paths(&sample, &args(&["**"])), [".gitignore"]);
        assert_eq!(paths(&sample, &Args { ignored: true, ..args(&["**"]) }), [".gitignore", "out/a"]);
        assert_eq!(paths(&sample, &Args { kind: Wanted::Symlink, ..args(&["**"]) }), ["k/up", "loop"]);
    }

    #[test]
    fn a_wrong_glob_or_cursor_names_its_argument() {
        let sample = Sample::with(&[]);
        let refused = |args: &Args| field(&glob(&sample.desk(), args, Progress::default()).unwrap_err());
        assert_eq!(refused(&args(&["{a"])), "patterns");
        assert_eq!(refused(&Args { cursor: Some("?".into()), ..args(&["*"]) }), "cursor");
        assert_eq!(refused(&Args { path: "../".into(), ..args(&["*"]) }), "path");
    }
}
