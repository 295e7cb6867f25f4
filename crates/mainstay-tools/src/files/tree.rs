//! `files_tree`: shows several levels of a directory as indented text, which takes the fewest tokens.

use std::sync::Arc;

use mainstay_core::{Context, Effect, Pace, Result, Spec, Tool, WithText};
use mainstay_sandbox::EntryKind;

use super::file_tools::{FileTools, spec};
use crate::progress::{Progress, run_with_progress};
use crate::walk::page::{self, CursorKind};
use crate::walk::{Collected, EntryFilter, PathCollector, ResumePoint, Unread, Walk};

/// The entries are collected as paths and drawn afterwards: a page may begin anywhere in the tree.
pub(crate) struct Tree(pub(crate) FileTools);

#[derive(serde::Deserialize, schemars::JsonSchema)]
pub(crate) struct Args {
    /// Directory, relative to the workspace.
    #[serde(default = "crate::defaults::workspace_root")]
    path: String,
    /// Number of levels.
    #[serde(default = "crate::defaults::number::<usize, 3>")]
    #[schemars(range(min = 1, max = 64))]
    depth: usize,
    /// Maximum entries per page.
    #[serde(default = "crate::defaults::number::<usize, 1000>")]
    #[schemars(range(min = 1, max = 10000))]
    limit: usize,
    /// `next_cursor` of the previous page.
    cursor: Option<String>,
    /// Also show what `.gitignore` and `.ignore` exclude.
    #[serde(default)]
    ignored: bool,
}

#[derive(Debug, serde::Serialize, schemars::JsonSchema)]
pub(crate) struct Output {
    /// Path of the directory.
    path: String,
    /// One line per entry, indented by two spaces per level. Directories end with `/`, or `/ …` at the depth limit; links
    /// with `@`; pipes, sockets and devices with `=`. A later page repeats the directories it starts in, marked
    /// `(continued)`.
    tree: String,
    /// Number of directories on this page.
    directories: usize,
    /// Number of other entries on this page.
    files: usize,
    /// Pass as `cursor` to get the next page; null on the last page.
    next_cursor: Option<String>,
    /// Directories that could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    unread: Option<Unread>,
}

impl Tool for Tree {
    const SPEC: Spec = Spec {
        title: "Directory tree",
        description: "Shows several levels of a directory as an indented tree, in pages. Skips ignored files unless \
                      asked for. Use it to get an overview of a project; files_list has sizes and times.",
        pace: Pace::Long,
        ..spec("tree", Effect::Reads)
    };
    type Args = Args;
    type Output = WithText<Output>;

    async fn call(&self, args: Args, context: &Context) -> Result<WithText<Output>> {
        let tools = self.0.clone();
        run_with_progress(context, "entries seen", move |progress| tree(&tools, &args, progress).map(Output::with_text))
            .await
    }
}

impl Output {
    fn with_text(self) -> WithText<Self> {
        let text = format!("{}{}", self.tree, page::next_page_hint(self.next_cursor.as_deref()));
        WithText { value: self, text }
    }
}

fn tree(tools: &FileTools, args: &Args, progress: Progress) -> Result<Output> {
    let start = Arc::new(tools.workspace.find(&args.path)?.open_dir()?);
    let last = args.cursor.as_deref().map(|cursor| page::decode(CursorKind::Tree, cursor)).transpose()?;
    let resume = last.as_ref().map(|[last]| ResumePoint::at(last, false));
    let limits = tools.page_limits(args.limit);
    let kind = EntryFilter::Any;
    let walk = Walk {
        globs: None,
        kind,
        resume,
        ignored: args.ignored,
        sources_only: false,
        depth: args.depth,
        limits,
        progress,
    };
    let Collected { list: mut entries, unread, .. } = walk.run(&start, &PathCollector)?;
    let end = limits.truncate(&mut entries, |(path, _)| path.len());
    let next_cursor = end.map(|(path, _)| page::encode(CursorKind::Tree, &[path]));
    let directories = entries.iter().filter(|(_, kind)| *kind == EntryKind::Directory).count();
    let files = entries.len() - directories;
    let (tree, unread) = (draw(&entries, args.depth, last.is_some()), unread.if_any());
    Ok(Output { path: start.display(), tree, directories, files, next_cursor, unread })
}

/// The tree as text. A page that is `continued` begins with the directories it is in.
fn draw(entries: &[(Vec<u8>, EntryKind)], depth: usize, continued: bool) -> String {
    let mut text = String::new();
    // Without its parents the first entry of a later page would have no place.
    if let Some((first, _)) = entries.first().filter(|_| continued) {
        let names: Vec<&[u8]> = first.split(|byte| *byte == b'/').collect();
        for (level, name) in names[..names.len() - 1].iter().enumerate() {
            line(&mut text, level, name, "/ (continued)");
        }
    }
    for (path, kind) in entries {
        let level = memchr::memchr_iter(b'/', path).count();
        let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        let mark = match kind {
            EntryKind::Directory if level + 1 == depth => "/ …",
            EntryKind::Directory => "/",
            EntryKind::File => "",
            EntryKind::Symlink => "@",
            EntryKind::Other => "=",
        };
        line(&mut text, level, name, mark);
    }
    text
}

fn line(text: &mut String, level: usize, name: &[u8], mark: &str) {
    text.extend(std::iter::repeat_n("  ", level));
    let name = String::from_utf8_lossy(name);
    if name.chars().any(char::is_control) {
        // A name that contains a line break must not look like two entries.
        text.extend(name.escape_debug());
    } else {
        text.push_str(&name);
    }
    text.push_str(mark);
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::testing::workspace::{SampleWorkspace, field};
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt as _;

    fn args() -> Args {
        Args { path: ".".into(), depth: 3, limit: 1000, cursor: None, ignored: false }
    }

    fn drawn(sample: &SampleWorkspace, args: &Args) -> String {
        tree(&sample.tools(), args, Progress::default()).unwrap().tree
    }

    #[tokio::test]
    async fn a_tree_is_drawn_with_indentation_and_counted() {
        let sample = SampleWorkspace::with(&[("src/main.rs", ""), ("src/a/b/c/d.rs", ""), ("Cargo.toml", "")]);
        let out = Tree(sample.tools()).call(args(), &Context::detached()).await.unwrap().value;
        assert_eq!(out.tree, "Cargo.toml\nsrc/\n  a/\n    b/ …\n  main.rs\n");
        assert_eq!((out.directories, out.files, out.next_cursor), (3, 2, None));
        let below = Args { path: "src/a".into(), depth: 1, ..args() };
        assert_eq!(drawn(&sample, &below), "b/ …\n");
    }

    #[test]
    fn pages_contain_every_entry_once_and_repeat_their_directories() {
        let sample = SampleWorkspace::with(&[("a/b/1", ""), ("a/b/2", ""), ("a/c", ""), ("d", ""), ("e/f/g/h", "")]);
        let whole = drawn(&sample, &Args { depth: 9, ..args() });
        for limit in 1..12 {
            let (mut joined, mut cursor) = (String::new(), None);
            loop {
                let page =
                    tree(&sample.tools(), &Args { depth: 9, limit, cursor, ..args() }, Progress::default()).unwrap();
                assert!(page.files + page.directories <= limit);
                for line in page.tree.lines().filter(|line| !line.ends_with("(continued)")) {
                    joined.push_str(line);
                    joined.push('\n');
                }
                cursor = page.next_cursor;
                if cursor.is_none() {
                    break;
                }
            }
            assert_eq!(joined, whole, "{limit}");
        }
        let first = tree(&sample.tools(), &Args { limit: 3, ..args() }, Progress::default()).unwrap();
        let second = drawn(&sample, &Args { limit: 1, cursor: first.next_cursor, ..args() });
        assert_eq!(second, "a/ (continued)\n  b/ (continued)\n    2\n");
    }

    #[test]
    fn special_entries_are_marked_and_not_followed() {
        let sample = SampleWorkspace::with(&[("d/x", ""), (".env", ""), (".git/HEAD", "")]);
        sample.link(".", "loop");
        sample.pipe("pipe");
        sample.write(OsString::from_vec(b"two\nlines".to_vec()), b"");
        sample.write(OsString::from_vec(b"w\xff".to_vec()), b"");
        assert_eq!(drawn(&sample, &args()), "d/\n  x\nloop@\npipe=\ntwo\\nlines\nw\u{fffd}\n");
    }

    #[test]
    fn ignored_files_are_shown_if_asked_for() {
        let sample = SampleWorkspace::with(&[
            ("a/.gitignore", "/x/\n!y\n"),
            (".gitignore", "y\n"),
            ("a/x/1", ""),
            ("a/y", ""),
            ("y", ""),
        ]);
        assert_eq!(drawn(&sample, &args()), ".gitignore\na/\n  .gitignore\n  y\n");
        let all = drawn(&sample, &Args { ignored: true, ..args() });
        assert_eq!(all, ".gitignore\na/\n  .gitignore\n  x/\n    1\n  y\ny\n");
    }

    #[test]
    fn an_unreadable_directory_is_reported_and_the_rest_is_shown() {
        use std::os::unix::fs::PermissionsExt as _;
        let sample = SampleWorkspace::with(&[("closed/x", ""), ("open/y", "")]);
        let closed = sample.path().join("closed");
        std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o000)).unwrap();
        let readable = std::fs::read_dir(&closed).is_ok();
        let out = tree(&sample.tools(), &args(), Progress::default()).unwrap();
        std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o700)).unwrap();
        assert!(out.tree.ends_with("open/\n  y\n"), "{}", out.tree);
        // A process that may read everything (root) gets no error here.
        assert_eq!(out.unread.is_some(), !readable);
    }

    #[test]
    fn an_invalid_cursor_or_path_is_named() {
        let sample = SampleWorkspace::with(&[("f", "")]);
        let expect_error = |args: &Args| field(&tree(&sample.tools(), args, Progress::default()).unwrap_err());
        assert_eq!(expect_error(&Args { cursor: Some("zz".into()), ..args() }), "cursor");
        assert_eq!(expect_error(&Args { path: "f".into(), ..args() }), "path");
    }
}
