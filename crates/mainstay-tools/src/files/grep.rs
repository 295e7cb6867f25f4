//! `files_grep`: searches the content of files.

use std::fmt::Write as _;
use std::sync::Arc;

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, SearcherBuilder};
use mainstay_core::{Context, Effect, Error, Pace, Result, Spec, Tool, WithText};

use super::file_tools::{FileTools, spec};
use super::search::{FileMatches, FileSearcher, Show, truncate};
use crate::progress::{Progress, run_with_progress};
use crate::walk::page::{self, CursorKind};
use crate::walk::{Collected, EntryFilter, Globs, ResumePoint, StopSignal, Unread, Visitor as _, Walk};

/// The most memory a compiled pattern may take, and its cache in each thread.
const MAX_PATTERN_BYTES: usize = 16 * 1024 * 1024;

/// The longest line that is searched, and the largest file that is searched across lines.
const MAX_LINE_BYTES: usize = 16 * 1024 * 1024;
const MAX_MULTILINE_FILE_BYTES: usize = 32 * 1024 * 1024;

/// Uses the crates that ripgrep is built from, on files that the sandbox has opened.
pub(crate) struct Grep(pub(crate) FileTools);

#[derive(Clone, serde::Deserialize, schemars::JsonSchema)]
#[expect(clippy::struct_excessive_bools, reason = "each is an argument of its own")]
pub(crate) struct Args {
    /// Regular expression in the syntax of ripgrep and Rust's regex crate.
    #[schemars(length(min = 1))]
    pattern: String,
    /// Directory or file to search, relative to the workspace.
    #[serde(default = "crate::defaults::workspace_root")]
    path: String,
    /// Globs of the files to search, relative to `path`, such as `src/**/*.rs`. Without a slash a glob matches names at
    /// any depth; a leading `!` excludes.
    #[serde(default)]
    #[schemars(length(max = 100))]
    globs: Vec<String>,
    /// Treat the pattern as plain text.
    #[serde(default)]
    literal: bool,
    /// Case sensitivity; `smart` is sensitive only if the pattern has an upper-case letter.
    #[serde(default)]
    case: Case,
    /// Match whole words only.
    #[serde(default)]
    word: bool,
    /// Let matches span lines. Skips files over 32 MiB.
    #[serde(default)]
    multiline: bool,
    /// Context lines before and after each match.
    #[serde(default)]
    #[schemars(range(min = 0, max = 20))]
    context: usize,
    /// Context lines before each match. Default: `context`.
    #[schemars(range(min = 0, max = 20))]
    before: Option<usize>,
    /// Context lines after each match. Default: `context`.
    #[schemars(range(min = 0, max = 20))]
    after: Option<usize>,
    /// Return matching lines, only the paths of matching files, or a count for each file.
    #[serde(default)]
    show: Show,
    /// Maximum matches per page; files per page if no lines are shown.
    #[serde(default = "crate::defaults::number::<usize, 200>")]
    #[schemars(range(min = 1, max = 10_000))]
    limit: usize,
    /// `next_cursor` of the previous page.
    cursor: Option<String>,
    /// Also search what `.gitignore` and `.ignore` exclude.
    #[serde(default)]
    ignored: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(crate) enum Case {
    #[default]
    Sensitive,
    Insensitive,
    Smart,
}

#[derive(Debug, serde::Serialize, schemars::JsonSchema)]
pub(crate) struct Output {
    /// Matching files, by path.
    files: Vec<FileMatches>,
    /// Number of files searched for this page.
    searched: u64,
    /// How many of them are binary. A binary file is searched up to its first NUL byte.
    binary: u64,
    /// Number of files that could not be opened or searched to the end.
    #[serde(default, skip_serializing_if = "is_zero")]
    unsearched: u64,
    /// Directories that could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    unread: Option<Unread>,
    /// Pass as `cursor` to get the next page; null on the last page.
    next_cursor: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Tool for Grep {
    const SPEC: Spec = Spec {
        title: "Search in files",
        description: "Searches files of the workspace for a regular expression or plain text and returns the matching \
                      lines with line numbers, in pages. Skips binary and ignored files. Use it to find where \
                      something is used or defined; use files_glob to find files by name.",
        pace: Pace::Long,
        ..spec("grep", Effect::Reads)
    };
    type Args = Args;
    type Output = WithText<Output>;

    async fn call(&self, args: Args, context: &Context) -> Result<WithText<Output>> {
        let tools = self.0.clone();
        let search = move |progress| grep(&tools, &args, &progress).map(Output::with_text);
        run_with_progress(context, "entries seen", search).await
    }
}

impl Output {
    /// The reply for clients that read only text, in the format of `grep -n`: `path:line:text`, context lines with
    /// dashes.
    fn with_text(self) -> WithText<Self> {
        let mut text = String::new();
        for file in &self.files {
            file.write_text(&mut text);
        }
        if self.files.is_empty() {
            let _ = writeln!(text, "No matches in {} files.", self.searched);
        }
        text.push_str(&page::next_page_hint(self.next_cursor.as_deref()));
        WithText { value: self, text }
    }
}

impl FileMatches {
    fn write_text(&self, text: &mut String) {
        let path = &self.path;
        let _ = match self.count {
            Some(count) => writeln!(text, "{path}:{count}"),
            None if self.matches.is_empty() => writeln!(text, "{path}"),
            None => Ok(()),
        };
        for found in &self.matches {
            let first = found.line.saturating_sub(found.before.len() as u64);
            for (line, before) in (first..).zip(&found.before) {
                let _ = writeln!(text, "{path}-{line}-{before}");
            }
            let _ = writeln!(text, "{path}:{}:{}", found.line, found.text);
            let next = found.line + found.text.lines().count().max(1) as u64;
            for (line, after) in (next..).zip(&found.after) {
                let _ = writeln!(text, "{path}-{line}-{after}");
            }
        }
    }
}

fn grep(tools: &FileTools, args: &Args, progress: &Progress) -> Result<Output> {
    let limits = tools.page_limits(args.limit);
    let resume = args.cursor.as_deref().map(read_cursor).transpose()?;
    let globs = if args.globs.is_empty() { None } else { Some(Globs::new(&args.globs, "globs")?) };
    let search = FileSearcher { matcher: matcher(args)?, searcher: searcher(args), show: args.show, limits, resume };
    let location = tools.workspace.find(&args.path)?;
    // A path to a file searches that file, even if the project ignores it.
    let found = if let Ok(file) = location.open_file() {
        let mut found = Collected::default();
        let stop = StopSignal { page_full: Arc::default(), progress: progress.clone() };
        search.search(&mut search.worker(), &file, b"", &stop, &mut found);
        found
    } else {
        let resume = search.resume.as_ref().map(|(path, line)| ResumePoint::at(path, *line > 0));
        let (kind, depth, progress) = (EntryFilter::File, usize::MAX, progress.clone());
        let walk = Walk { globs, kind, resume, ignored: args.ignored, sources_only: false, depth, limits, progress };
        walk.run(&Arc::new(location.open_dir()?), &search)?
    };
    // The search of one file does not fail when it is stopped: its result would be incomplete.
    progress.check()?;
    let Collected { list: mut files, searched, binary, unsearched, unread, .. } = found;
    let end = truncate(&mut files, limits, args.show);
    let next_cursor = end.map(|(path, line)| page::encode(CursorKind::Grep, &[&path, line.to_string().as_bytes()]));
    Ok(Output { files, searched, binary, unsearched, unread: unread.if_any(), next_cursor })
}

fn matcher(args: &Args) -> Result<RegexMatcher> {
    let mut builder = RegexMatcherBuilder::new();
    builder
        .multi_line(true)
        .case_insensitive(args.case == Case::Insensitive)
        .case_smart(args.case == Case::Smart)
        .word(args.word)
        .fixed_strings(args.literal)
        .size_limit(MAX_PATTERN_BYTES)
        .dfa_size_limit(MAX_PATTERN_BYTES);
    // Lets the engine search for lines and skip the rest, which is much faster.
    if !args.multiline {
        builder.line_terminator(Some(b'\n'));
    }
    builder.build(&args.pattern).map_err(|error| {
        let hint = if args.pattern.contains(['\n']) || args.pattern.contains("\\n") {
            " Set multiline to match across lines."
        } else if args.literal {
            ""
        } else {
            " Set literal to search for plain text."
        };
        Error::field("pattern", format!("The pattern is not valid: {error}.{hint}"))
    })
}

fn searcher(args: &Args) -> SearcherBuilder {
    let lines = args.show == Show::Lines;
    let mut searcher = SearcherBuilder::new();
    searcher
        .binary_detection(BinaryDetection::quit(0))
        .heap_limit(Some(if args.multiline { MAX_MULTILINE_FILE_BYTES } else { MAX_LINE_BYTES }))
        .multi_line(args.multiline)
        .line_number(lines)
        .before_context(if lines { args.before.unwrap_or(args.context) } else { 0 })
        .after_context(if lines { args.after.unwrap_or(args.context) } else { 0 });
    searcher
}

/// The path of the last file of a page, and the line that the page ended with; 0 if the file is finished.
fn read_cursor(cursor: &str) -> Result<(Vec<u8>, u64)> {
    let [path, line] = page::decode(CursorKind::Grep, cursor)?;
    Ok((path, page::number(&line, cursor)?))
}

#[cfg(test)]
mod tests {
    use mainstay_core::Kind;

    use super::*;
    use crate::files::testing::workspace::{SampleWorkspace, field};

    fn args(pattern: &str) -> Args {
        serde_json::from_value(serde_json::json!({ "pattern": pattern })).unwrap()
    }

    fn found(sample: &SampleWorkspace, args: &Args) -> Output {
        grep(&sample.tools(), args, &Progress::default()).unwrap()
    }

    /// `path:line:text`, as grep prints it.
    fn lines_of(output: &Output) -> Vec<String> {
        let lines = |file: &FileMatches| {
            let path = file.path.clone();
            file.matches.iter().map(move |found| format!("{path}:{}:{}", found.line, found.text)).collect::<Vec<_>>()
        };
        output.files.iter().flat_map(lines).collect()
    }

    fn all_pages(sample: &SampleWorkspace, mut args: Args) -> Vec<String> {
        let mut all = Vec::new();
        loop {
            let page = found(sample, &args);
            let lines = lines_of(&page);
            assert!(lines.len() <= args.limit && page.files.len() <= args.limit);
            if args.show == Show::Lines {
                all.extend(lines);
            } else {
                all.extend(page.files.iter().map(|file| file.path.clone()));
            }
            args.cursor = page.next_cursor;
            if args.cursor.is_none() {
                return all;
            }
        }
    }

    #[tokio::test]
    async fn lines_are_found_by_path_with_their_numbers() {
        let sample = SampleWorkspace::with(&[
            ("b.rs", "x\nfn main() {}\n"),
            ("a/c.rs", "fn a() {}\r\nfn b() {}"),
            ("d.md", "none\n"),
        ]);
        let reply = Grep(sample.tools()).call(args(r"fn \w+"), &Context::detached()).await.unwrap();
        assert!(reply.text.lines().all(|line| line.contains(':')), "{}", reply.text);
        let out = reply.value;
        assert_eq!(lines_of(&out), ["a/c.rs:1:fn a() {}", "a/c.rs:2:fn b() {}", "b.rs:2:fn main() {}"]);
        assert_eq!((out.searched, out.binary, out.next_cursor), (3, 0, None));
    }

    #[test]
    fn the_options_change_what_the_pattern_matches() {
        let sample = SampleWorkspace::with(&[("f", "a.b\naxb\nA.B\ncat concat\n")]);
        let lines = |args: Args| {
            found(&sample, &args).files.into_iter().flat_map(|f| f.matches).map(|h| h.line).collect::<Vec<_>>()
        };
        assert_eq!(lines(args("a.b")), [1, 2]);
        assert_eq!(lines(Args { literal: true, ..args("a.b") }), [1]);
        assert_eq!(lines(Args { case: Case::Insensitive, ..args("A.b") }), [1, 2, 3]);
        assert_eq!(lines(Args { case: Case::Smart, ..args("A.B") }), [3]);
        assert_eq!(lines(Args { case: Case::Smart, ..args("a.b") }), [1, 2, 3]);
        assert_eq!(lines(Args { word: true, ..args("xb|concat|on") }), [4]);
        assert_eq!(lines(args("b$")), [1, 2]);
    }

    #[test]
    fn a_match_may_span_lines_with_multiline() {
        let sample = SampleWorkspace::with(&[("f", "a {\n  b\n}\nc\n")]);
        let out = found(&sample, &Args { multiline: true, ..args(r"\{\n.*\n\}") });
        assert_eq!(lines_of(&out), ["f:1:a {\n  b\n}"]);
        let error = grep(&sample.tools(), &args(r"\{\n"), &Progress::default()).unwrap_err();
        assert!(field(&error) == "pattern" && error.public.contains("multiline"), "{error}");
    }

    #[test]
    fn a_context_line_is_returned_once() {
        let sample = SampleWorkspace::with(&[("f", "1\n2\nX\n4\nX\n6\n7\n8\nX\n")]);
        let out = found(&sample, &Args { context: 2, after: Some(1), ..args("X") });
        let hits = &out.files[0].matches;
        let around: Vec<_> =
            hits.iter().map(|found| (found.line, found.before.join(" "), found.after.join(" "))).collect();
        let expected = [(3, "1 2", "4"), (5, "", "6"), (9, "7 8", "")];
        assert_eq!(around, expected.map(|(line, before, after)| (line, before.to_owned(), after.to_owned())));
    }

    #[test]
    fn pages_contain_every_match_once_and_in_order() {
        let sample = SampleWorkspace::with(&[]);
        let mut expected = Vec::new();
        for (a, b) in (0..9).flat_map(|a| (0..9).map(move |b| (a, b))) {
            let path = if b % 2 == 0 { format!("{a}/{b}/f") } else { format!("{a}/{b}") };
            sample.write(&path, b"hit\nno\nhit\n");
            expected.extend([format!("{path}:1:hit"), format!("{path}:3:hit")]);
        }
        for limit in [1, 5, 161, 162, 2000] {
            assert_eq!(all_pages(&sample, Args { limit, ..args("hit") }), expected, "{limit}");
            assert_eq!(all_pages(&sample, Args { limit, context: 1, ..args("hit") }), expected, "{limit}");
            for show in [Show::Files, Show::Counts] {
                assert_eq!(all_pages(&sample, Args { show, limit, ..args("hit") }).len(), 81, "{limit}");
            }
        }
        let one = all_pages(&sample, Args { path: "3/1".into(), limit: 1, ..args("hit") });
        assert_eq!(one, ["3/1:1:hit", "3/1:3:hit"]);
    }

    #[test]
    fn a_page_also_ends_when_its_bytes_are_full() {
        let sample = SampleWorkspace::with(&[("a", &"hit 0123456789\n".repeat(100)), ("b", "hit\n")]);
        let (mut cursor, mut hits, mut pages) = (None, 0, 0);
        loop {
            let page = grep(&sample.tools_reading(300), &Args { cursor, ..args("hit") }, &Progress::default()).unwrap();
            hits += lines_of(&page).len();
            pages += 1;
            cursor = page.next_cursor;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(hits, 101);
        assert!(pages > 10, "{pages}");
    }

    #[test]
    fn files_are_selected_by_globs_and_counted() {
        let sample =
            SampleWorkspace::with(&[("a.rs", "x\nx\n"), ("s/b.rs", "x\n"), ("s/c.md", "x\n"), ("gen/d.rs", "x\n")]);
        let globs = vec!["*.rs".to_owned(), "!gen".to_owned()];
        let out = found(&sample, &Args { globs, show: Show::Counts, ..args("x") });
        let counts: Vec<_> = out.files.iter().map(|file| (file.path.as_str(), file.count)).collect();
        assert_eq!(counts, [("a.rs", Some(2)), ("s/b.rs", Some(1))]);
        assert_eq!(out.searched, 2);
    }

    #[test]
    fn protected_ignored_and_special_files_are_not_searched() {
        let sample = SampleWorkspace::with(&[
            (".env", "SECRET=1"),
            (".git/config", "SECRET"),
            ("keys/a.pem", "SECRET"),
            (".gitignore", "out\n"),
            ("out/log", "SECRET"),
            ("plain", "no SECRET\n"),
        ]);
        sample.pipe("pipe");
        sample.link(".env", "env");
        sample.link(".", "loop");
        assert_eq!(lines_of(&found(&sample, &args("SECRET"))), ["plain:1:no SECRET"]);
        let all = found(&sample, &Args { ignored: true, ..args("SECRET") });
        assert_eq!(lines_of(&all), ["out/log:1:SECRET", "plain:1:no SECRET"]);
        for path in [".env", "env", ".git", "keys/a.pem", "pipe", "../"] {
            assert!(
                grep(&sample.tools(), &Args { path: path.into(), ..args("S") }, &Progress::default()).is_err(),
                "{path}"
            );
        }
    }

    #[test]
    fn binary_files_are_counted_and_invalid_utf8_is_shown_lossily() {
        let sample = SampleWorkspace::with(&[]);
        sample.write("binary", b"\0\0hit\n");
        sample.write("latin", b"hit \xe4\n");
        sample.write("wide", b"\xff\xfeh\0i\0t\0\n\0");
        sample.write("long", &[vec![b'x'; 100_000], b" hit ".to_vec(), vec![b'y'; 100_000]].concat());
        let out = found(&sample, &args("hit"));
        assert_eq!((out.files.len(), out.binary), (3, 1));
        let hit = |at: usize| &out.files[at].matches[0];
        assert!(hit(0).lossy && hit(0).text == "hit \u{fffd}");
        assert!(hit(1).cut && hit(1).text.contains(" hit ") && hit(1).text.len() <= 2000);
        assert_eq!(hit(2).text, "hit");
    }

    #[test]
    fn an_invalid_argument_is_named() {
        let sample = SampleWorkspace::with(&[]);
        let expect_error = |args: &Args| grep(&sample.tools(), args, &Progress::default()).unwrap_err();
        let unclosed = expect_error(&args("(a"));
        assert!(field(&unclosed) == "pattern" && unclosed.public.contains("unclosed group"), "{unclosed}");
        assert_eq!(field(&expect_error(&args(r"(\pL{1000}){1000}"))), "pattern", "it would take too much memory");
        assert_eq!(field(&expect_error(&Args { globs: vec!["[".into()], ..args("a") })), "globs");
        assert_eq!(field(&expect_error(&Args { cursor: Some("a".into()), ..args("a") })), "cursor");
        assert_eq!(expect_error(&Args { path: "missing".into(), ..args("a") }).kind, Kind::NotFound);
    }

    #[tokio::test]
    async fn a_cancelled_search_stops() {
        let sample = SampleWorkspace::with(&[("a", "x\n")]);
        for path in [".", "a"] {
            let context = Context::detached();
            context.cancel.cancel();
            let stopped = Grep(sample.tools()).call(Args { path: path.into(), ..args("x") }, &context).await;
            assert_eq!(stopped.unwrap_err().kind, Kind::Cancelled, "{path}");
        }
    }
}
