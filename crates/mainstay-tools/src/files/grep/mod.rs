//! `files_grep`: lines by what is in them, with ripgrep's engine.

mod engine;
mod finds;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;

use mainstay_core::{Context, Effect, Error, Kind, Pace, Result, Spec, Told, Tool};
use mainstay_sandbox::EntryKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Desk;
use super::page::{self, Of, Size};
use super::walk::{Globs, Seen, Since, Stop, Unread, Visit, Walk, here};
use crate::progress::{Progress, watched};
use engine::{Engine, Kit};
use finds::{Finds, Hit};

pub(crate) struct Grep(pub(crate) Desk);

#[derive(Clone, Deserialize, JsonSchema)]
#[expect(clippy::struct_excessive_bools, reason = "each is an argument of its own")]
pub(crate) struct Args {
    /// A regular expression, as Rust's regex crate and ripgrep have them.
    #[schemars(length(min = 1))]
    pattern: String,
    /// The directory or file to search, relative to the workspace.
    #[serde(default = "here")]
    path: String,
    /// Search only these files: globs as in `src/**/*.rs`, told from `path`. One without a slash matches names at any
    /// depth; one that begins with `!` takes away.
    #[serde(default)]
    #[schemars(length(max = 100))]
    globs: Vec<String>,
    /// The pattern is plain text, not a regular expression.
    #[serde(default)]
    literal: bool,
    /// Whether case matters; `smart`: only if the pattern has an upper-case letter.
    #[serde(default)]
    case: Case,
    /// Match whole words only.
    #[serde(default)]
    word: bool,
    /// Let matches go across lines. Files over 32 MiB are then not searched.
    #[serde(default)]
    multiline: bool,
    /// How many lines to show before and after each match.
    #[serde(default)]
    #[schemars(range(min = 0, max = 20))]
    context: usize,
    /// How many lines to show before each match, if not as many as `context`.
    #[schemars(range(min = 0, max = 20))]
    before: Option<usize>,
    /// How many lines to show after each match, if not as many as `context`.
    #[schemars(range(min = 0, max = 20))]
    after: Option<usize>,
    /// What to return: matching lines, only the files that have some, or how many each file has.
    #[serde(default)]
    show: Show,
    /// How many matches one page has at most; how many files, if no lines are shown.
    #[serde(default = "usual_limit")]
    #[schemars(range(min = 1, max = 10_000))]
    limit: usize,
    /// The `next_cursor` of the page before.
    cursor: Option<String>,
    /// Whether to search what `.gitignore` and `.ignore` leave out.
    #[serde(default)]
    ignored: bool,
}

fn usual_limit() -> usize {
    200
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(crate) enum Case {
    #[default]
    Sensitive,
    Insensitive,
    Smart,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(crate) enum Show {
    #[default]
    Lines,
    Files,
    Counts,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    /// The files that match, by path.
    files: Vec<Matched>,
    /// How many files were searched for this page.
    searched: u64,
    /// How many of them turned out to be binary; a binary file is searched up to its first NUL byte.
    binary: u64,
    /// How many files could not be opened or not be searched to their end.
    #[serde(default, skip_serializing_if = "is_zero")]
    unsearched: u64,
    /// Directories that could not be read, if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    unread: Option<Unread>,
    /// Give it back as `cursor` for the next page; null on the last one.
    next_cursor: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Matched {
    /// The path, as it can be given to other tools.
    path: String,
    /// How many lines match, if counts were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<u64>,
    /// The lines that match, if lines were asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    matches: Vec<Hit>,
}

impl Tool for Grep {
    const SPEC: Spec = Spec {
        title: "Search in Files",
        description: "Searches the files of the workspace for a regular expression or plain text and returns the \
                      matching lines with their numbers, by path, in pages. Binary files and what the project ignores \
                      are left out. Use it to find where something is written; files_glob finds files by name.",
        pace: Pace::Long,
        tags: &["fs"],
        ..Spec::new("files", "grep", Effect::Reads)
    };
    type Args = Args;
    type Output = Told<Output>;

    async fn call(&self, args: Args, context: &Context) -> Result<Told<Output>> {
        let desk = self.0.clone();
        watched(context, "entries seen", move |progress| grep(&desk, &args, &progress).map(Output::told)).await
    }
}

impl Output {
    /// As people know it from the command line: path, number and line; context with a dash.
    fn told(self) -> Told<Self> {
        let mut text = String::new();
        for file in &self.files {
            file.tell(&mut text);
        }
        if self.files.is_empty() {
            let _ = writeln!(text, "Nothing found in {} files.", self.searched);
        }
        text.push_str(&page::told(self.next_cursor.as_deref()));
        Told { value: self, text }
    }
}

impl Matched {
    fn tell(&self, text: &mut String) {
        let path = &self.path;
        let _ = match self.count {
            Some(count) => writeln!(text, "{path}:{count}"),
            None if self.matches.is_empty() => writeln!(text, "{path}"),
            None => Ok(()),
        };
        for hit in &self.matches {
            let first = hit.line.saturating_sub(hit.before.len() as u64);
            for (line, before) in (first..).zip(&hit.before) {
                let _ = writeln!(text, "{path}-{line}-{before}");
            }
            let _ = writeln!(text, "{path}:{}:{}", hit.line, hit.text);
            let next = hit.line + hit.text.lines().count().max(1) as u64;
            for (line, after) in (next..).zip(&hit.after) {
                let _ = writeln!(text, "{path}-{line}-{after}");
            }
        }
    }
}

fn grep(desk: &Desk, args: &Args, progress: &Progress) -> Result<Output> {
    let size = Size { items: args.limit, bytes: usize::try_from(desk.read_bytes).unwrap_or(usize::MAX) };
    let search = Search {
        engine: Engine::new(args, size)?,
        globs: if args.globs.is_empty() { None } else { Some(Globs::new(&args.globs, "globs")?) },
        since: args.cursor.as_deref().map(read_cursor).transpose()?,
    };
    let spot = desk.workspace.find(&args.path)?;
    let (mut finds, unread) = if let Ok(file) = spot.open_file() {
        let (mut finds, stop) = (Finds::default(), Stop::new(progress));
        let since = search.since_line(b"");
        search.engine.search(&mut search.engine.kit(), &file, b"", since, &stop, &mut finds);
        (finds, None)
    } else {
        let since = search.since.as_ref().map(|(path, line)| Since::path(path, *line > 0));
        let walk = Walk { since, ignored: args.ignored, depth: usize::MAX, size, progress: progress.clone() };
        walk.run(spot.open_dir()?, &search)?.into_parts()
    };
    if progress.is_cancelled() {
        return Err(Error::new(Kind::Cancelled, "The call was cancelled."));
    }
    let end = finds.cut(size, args.show);
    let next_cursor = end.map(|(path, line)| page::encode(Of::Grep, &[&path, line.to_string().as_bytes()]));
    let Finds { files, searched, binary, unsearched, .. } = finds;
    let matched = |file: finds::File| Matched {
        path: file.shown,
        count: Some(file.matches).filter(|_| args.show == Show::Counts),
        matches: file.hits,
    };
    Ok(Output { files: files.into_iter().map(matched).collect(), searched, binary, unsearched, unread, next_cursor })
}

/// The path of the last file, and the line in it the page ended with; 0 if the file is done with.
fn read_cursor(cursor: &str) -> Result<(Vec<u8>, u64)> {
    let mut parts = page::decode(Of::Grep, cursor, 2)?;
    let line = page::number(&parts[1], cursor)?;
    Ok((parts.swap_remove(0), line))
}

struct Search {
    engine: Engine,
    globs: Option<Globs>,
    since: Option<(Vec<u8>, u64)>,
}

impl Search {
    fn since_line(&self, path: &[u8]) -> u64 {
        self.since.as_ref().filter(|(since, _)| since == path).map_or(0, |(_, line)| *line)
    }
}

impl Visit for Search {
    type Kit = Kit;
    type Catch = Finds;
    const SHARED: bool = true;

    fn kit(&self) -> Kit {
        self.engine.kit()
    }

    fn wants(&self, seen: &Seen<'_>) -> bool {
        seen.entry.kind == EntryKind::File && self.globs.as_ref().is_none_or(|globs| globs.mean(seen.path(), false))
    }

    fn enters(&self, seen: &Seen<'_>) -> bool {
        self.globs.as_ref().is_none_or(|globs| globs.lead_into(seen.path()))
    }

    fn visit(&self, kit: &mut Kit, seen: &Seen<'_>, stop: &Stop, caught: &mut Finds) {
        let path = seen.path().as_os_str().as_bytes();
        match seen.directory.file(&seen.entry.name) {
            Ok(file) => self.engine.search(kit, &file, path, self.since_line(path), stop, caught),
            Err(_) => caught.unsearched += 1,
        }
    }
}
