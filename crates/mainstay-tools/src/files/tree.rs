//! `files_tree`: several levels at once, as text with indentation, which says most in the fewest words.

use std::os::unix::ffi::OsStrExt as _;

use mainstay_core::{Context, Effect, Pace, Result, Spec, Told, Tool};
use mainstay_sandbox::EntryKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Desk;
use super::page::{self, Of, Size};
use super::walk::{Pile, Seen, Since, Stop, Unread, Visit, Walk, here};
use crate::progress::{Progress, watched};

pub(crate) struct Tree(pub(crate) Desk);

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// The directory, relative to the workspace.
    #[serde(default = "here")]
    path: String,
    /// How many levels.
    #[serde(default = "usual_depth")]
    #[schemars(range(min = 1, max = 64))]
    depth: usize,
    /// How many entries one page has at most.
    #[serde(default = "usual_limit")]
    #[schemars(range(min = 1, max = 10000))]
    limit: usize,
    /// The `next_cursor` of the page before.
    cursor: Option<String>,
    /// Whether to show what `.gitignore` and `.ignore` leave out.
    #[serde(default)]
    ignored: bool,
}

fn usual_depth() -> usize {
    3
}

fn usual_limit() -> usize {
    1000
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    /// The directory.
    path: String,
    /// One line for each entry, two spaces deeper for each level. A directory ends with `/`, and with `/ …` if the
    /// depth ends there; a link with `@`; a pipe, socket or device with `=`. A page that begins inside directories
    /// repeats them, marked `(continued)`.
    tree: String,
    /// How many directories this page shows.
    directories: usize,
    /// How many other entries this page shows.
    files: usize,
    /// Give it back as `cursor` for the next page; null on the last one.
    next_cursor: Option<String>,
    /// Directories that could not be read, if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    unread: Option<Unread>,
}

impl Tool for Tree {
    const SPEC: Spec = Spec {
        title: "Directory Tree",
        description: "Shows several levels of a directory of the workspace as an indented tree, in pages. What the \
                      project ignores is left out unless asked for. Use it to get to know a project; files_list tells \
                      sizes and times.",
        pace: Pace::Long,
        tags: &["fs"],
        ..Spec::new("files", "tree", Effect::Reads)
    };
    type Args = Args;
    type Output = Told<Output>;

    async fn call(&self, args: Args, context: &Context) -> Result<Told<Output>> {
        let desk = self.0.clone();
        watched(context, "entries seen", move |progress| tree(&desk, &args, progress).map(Output::told)).await
    }
}

impl Output {
    fn told(self) -> Told<Self> {
        let text = format!("{}{}", self.tree, page::told(self.next_cursor.as_deref()));
        Told { value: self, text }
    }
}

fn tree(desk: &Desk, args: &Args, progress: Progress) -> Result<Output> {
    let start = desk.workspace.find(&args.path)?.open_dir()?;
    let path = start.display();
    let last = args.cursor.as_deref().map(|cursor| page::decode(Of::Tree, cursor, 1)).transpose()?;
    let since = last.as_ref().map(|last| Since::path(&last[0], false));
    let size = Size { items: args.limit, bytes: usize::try_from(desk.read_bytes).unwrap_or(usize::MAX) };
    let walk = Walk { since, ignored: args.ignored, depth: args.depth, size, progress };
    let (caught, unread) = walk.run(start, &Everything)?.into_parts();
    let mut branches = caught.things;
    let more = size.cut(&mut branches, |branch| branch.path.len());
    let next_cursor = branches.last().filter(|_| more).map(|last| page::encode(Of::Tree, &[&last.path]));
    let directories = branches.iter().filter(|branch| branch.kind == EntryKind::Directory).count();
    let files = branches.len() - directories;
    Ok(Output { path, tree: drawn(&branches, args.depth, last.is_some()), directories, files, next_cursor, unread })
}

struct Everything;

struct Branch {
    /// From the start, as bytes.
    path: Vec<u8>,
    kind: EntryKind,
}

impl Visit for Everything {
    type Kit = ();
    type Catch = Pile<Branch>;
    const SHARED: bool = false;

    fn kit(&self) {}

    fn wants(&self, _seen: &Seen<'_>) -> bool {
        true
    }

    fn visit(&self, _kit: &mut (), seen: &Seen<'_>, _stop: &Stop, caught: &mut Pile<Branch>) {
        let path = seen.path().as_os_str().as_bytes().to_vec();
        let bytes = path.len();
        caught.add(Branch { path, kind: seen.entry.kind }, bytes);
    }
}

fn drawn(branches: &[Branch], depth: usize, continued: bool) -> String {
    let mut text = String::new();
    if let Some(first) = branches.first().filter(|_| continued) {
        let names: Vec<&[u8]> = first.path.split(|byte| *byte == b'/').collect();
        for (level, name) in names[..names.len() - 1].iter().enumerate() {
            line(&mut text, level, name, "/ (continued)");
        }
    }
    for branch in branches {
        let level = memchr::memchr_iter(b'/', &branch.path).count();
        let name = branch.path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        let mark = match branch.kind {
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
        // A name with a line break in it must not look like two.
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
    use crate::files::sample::{Sample, field};
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt as _;

    fn args() -> Args {
        Args { path: ".".into(), depth: 3, limit: 1000, cursor: None, ignored: false }
    }

    fn drawn(sample: &Sample, args: &Args) -> String {
        tree(&sample.desk(), args, Progress::default()).unwrap().tree
    }

    #[tokio::test]
    async fn a_tree_is_drawn_with_indentation_and_counted() {
        let sample = Sample::with(&[("src/main.rs", ""), ("src/a/b/c/d.rs", ""), ("Cargo.toml", "")]);
        let out = Tree(sample.desk()).call(args(), &Context::detached()).await.unwrap().value;
        assert_eq!(out.tree, "Cargo.toml\nsrc/\n  a/\n    b/ …\n  main.rs\n");
        assert_eq!((out.directories, out.files, out.next_cursor), (3, 2, None));
        let below = Args { path: "src/a".into(), depth: 1, ..args() };
        assert_eq!(drawn(&sample, &below), "b/ …\n");
    }

    #[test]
    fn pages_hold_every_entry_once_and_say_where_they_go_on() {
        let sample = Sample::with(&[("a/b/1", ""), ("a/b/2", ""), ("a/c", ""), ("d", ""), ("e/f/g/h", "")]);
        let whole = drawn(&sample, &Args { depth: 9, ..args() });
        for limit in 1..12 {
            let (mut joined, mut cursor) = (String::new(), None);
            loop {
                let page =
                    tree(&sample.desk(), &Args { depth: 9, limit, cursor, ..args() }, Progress::default()).unwrap();
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
        let first = tree(&sample.desk(), &Args { limit: 3, ..args() }, Progress::default()).unwrap();
        let second = drawn(&sample, &Args { limit: 1, cursor: first.next_cursor, ..args() });
        assert_eq!(second, "a/ (continued)\n  b/ (continued)\n    2\n");
    }

    #[test]
    fn odd_entries_are_marked_and_none_of_them_is_followed() {
        let sample = Sample::with(&[("d/x", ""), (".env", ""), (".git/HEAD", "")]);
        sample.link(".", "loop");
        sample.pipe("pipe");
        sample.write(OsString::from_vec(b"two\nlines".to_vec()), b"");
        sample.write(OsString::from_vec(b"w\xff".to_vec()), b"");
        assert_eq!(drawn(&sample, &args()), "d/\n  x\nloop@\npipe=\ntwo\\nlines\nw\u{fffd}\n");
    }

    #[test]
    fn what_is_ignored_is_there_if_asked_for() {
        let sample = Sample::with(&[
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
    fn a_directory_that_cannot_be_read_is_told_of_and_the_rest_is_shown() {
        use std::os::unix::fs::PermissionsExt as _;
        let sample = Sample::with(&[("closed/x", ""), ("open/y", "")]);
        let closed = sample.path().join("closed");
        std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o000)).unwrap();
        let readable = std::fs::read_dir(&closed).is_ok();
        let out = tree(&sample.desk(), &args(), Progress::default()).unwrap();
        std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o700)).unwrap();
        assert!(out.tree.ends_with("open/\n  y\n"), "{}", out.tree);
        // Whoever may read everything is not refused.
        assert_eq!(out.unread.is_some(), !readable);
    }

    #[test]
    fn a_wrong_cursor_or_path_names_its_argument() {
        let sample = Sample::with(&[("f", "")]);
        let refused = |args: &Args| field(&tree(&sample.desk(), args, Progress::default()).unwrap_err());
        assert_eq!(refused(&Args { cursor: Some("zz".into()), ..args() }), "cursor");
        assert_eq!(refused(&Args { path: "f".into(), ..args() }), "path");
    }
}
