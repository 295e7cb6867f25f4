//! `mainstay search` and `mainstay index`: search by meaning for a person at a terminal. No server is needed; a server for
//! the same directory has the same index.

use std::fmt::Write as _;
use std::io::{IsTerminal as _, Write as _};
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context as _, bail};
use mainstay_tools::search::{NamedWorkspace, Query, SearchMatch, Status};
use serde_json::json;

use super::load_config;
use super::progress::with_progress;
use super::terminal::{self, exit_code, print_all, print_json, print_line};
use crate::cli::Flags;
use crate::cli::search::{IndexArgs, SearchArgs};
use crate::wiring::make_private_dir;
use crate::{Config, log};

/// Escape sequences, or nothing where nobody sees colours.
struct Colours {
    path: &'static str,
    name: &'static str,
    dim: &'static str,
    found: &'static str,
    reset: &'static str,
}

impl Colours {
    const ON: Self = Self { path: "\x1b[35m", name: "\x1b[1m", dim: "\x1b[2m", found: "\x1b[1;31m", reset: "\x1b[0m" };
    const OFF: Self = Self { path: "", name: "", dim: "", found: "", reset: "" };

    /// <https://no-color.org>: any value but the empty one turns colours off.
    fn of_terminal() -> &'static Self {
        let is_refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        if std::io::stdout().is_terminal() && !is_refused { &Self::ON } else { &Self::OFF }
    }
}

/// The exit code of an error, as that of grep: 1 says that there are no matches.
const NO_RESULT: u8 = 2;

/// Searches and prints the matches. The exit code is 1 if there are none.
pub(super) fn search(flags: &Flags, args: &SearchArgs) -> ExitCode {
    let searched = || {
        let config = load_config(flags)?;
        log::start(&config.log)?;
        print_matches(&config, args)
    };
    searched().unwrap_or_else(|error| {
        let _ = writeln!(std::io::stderr(), "mainstay: {}", terminal::text(&format!("{error:#}")));
        ExitCode::from(NO_RESULT)
    })
}

fn print_matches(config: &Config, args: &SearchArgs) -> anyhow::Result<ExitCode> {
    let words = args.words.join(" ");
    if words.trim().is_empty() {
        bail!("there is nothing to search for: say in words what to find, or name it");
    }
    let workspace = open(config, &config.workspace()?)?;
    let query =
        Query { words: &words, top: args.top.into(), paths: &args.path, languages: &args.lang, lines: args.lines };
    let found = with_progress("Indexing", "files", |progress| workspace.search(&query, progress));
    let found = found.map_err(to_anyhow)?;
    if args.json {
        print_json(&json!({ "matches": found }))?;
    } else {
        print_all(&text(&found, &words, Colours::of_terminal()))?;
    }
    Ok(exit_code(!found.is_empty()))
}

/// Builds an index or brings it up to date, and says what is in it.
pub(super) fn index(config: &Config, args: &IndexArgs) -> anyhow::Result<ExitCode> {
    let directory = match &args.directory {
        Some(directory) => directory.clone(),
        None => config.workspace()?,
    };
    let workspace = open(config, &directory)?;
    let began = Instant::now();
    let status = if args.status {
        workspace.status()
    } else {
        with_progress("Indexing", "files", |progress| workspace.refresh(args.rebuild, progress))
    };
    let status = status.map_err(to_anyhow)?;
    if args.json {
        print_json(&status)?;
        return Ok(ExitCode::SUCCESS);
    }
    let Status { documents, chunks, bytes, complete, model, .. } = &status;
    let size = bytes.div_ceil(1024);
    let state = if *complete { "complete" } else { "not complete: run mainstay index" };
    let took = if args.status { String::new() } else { format!(" in {:.2} s", began.elapsed().as_secs_f64()) };
    print_line(format_args!("{documents} files, {chunks} chunks, {size} KiB{took}; {state}; model {model}"));
    Ok(ExitCode::SUCCESS)
}

fn open(config: &Config, directory: &Path) -> anyhow::Result<NamedWorkspace> {
    // The walk holds a directory open for each level and thread.
    mainstay_sandbox::raise_open_files();
    let data = config.data_dir()?;
    make_private_dir(&data)?;
    let opened = NamedWorkspace::open(directory, &config.files, &config.search, &data);
    opened.map_err(to_anyhow).with_context(|| format!("cannot search {}", directory.display()))
}

fn to_anyhow(error: mainstay_core::Error) -> anyhow::Error {
    anyhow::anyhow!("{}", terminal::error_message(error))
}

/// The matches, best first: where each is, its name, and its first lines with the words of the query.
fn text(found: &[SearchMatch], query: &str, colours: &Colours) -> String {
    let Colours { path: path_colour, name: name_colour, dim, reset, .. } = colours;
    let mut text = String::new();
    let words: Vec<String> = query
        .split(|character: char| !character.is_alphanumeric() && character != '_')
        .filter(|word| word.len() > 2)
        .map(str::to_lowercase)
        .collect();
    for one in found {
        let SearchMatch { score, path, line_start, line_end, name, snippet, .. } = one;
        let _ = write!(text, "{path_colour}{}{reset}:{line_start}-{line_end}", terminal::line(path));
        if !name.is_empty() {
            let _ = write!(text, " {name_colour}{}{reset}", terminal::line(name));
        }
        let _ = writeln!(text, " {dim}{score:.2}{reset}");
        for (at, line) in (*line_start..=*line_end).zip(snippet.iter().flat_map(|snippet| snippet.lines())) {
            let line = terminal::text(line);
            let _ = match line.strip_prefix('…') {
                Some(rest) => writeln!(text, "{dim}      …{rest}{reset}"),
                None => writeln!(text, "{dim}{at:>5}{reset} {}", highlighted(&line, &words, colours)),
            };
        }
        text.push('\n');
    }
    if found.is_empty() {
        text.push_str("No matches.\n");
    }
    text
}

/// A line in which words are coloured, wherever they begin.
fn highlighted(line: &str, words: &[String], colours: &Colours) -> String {
    // Lower case of some letters has another length; there nothing is coloured.
    let lower = line.to_lowercase();
    if colours.found.is_empty() || lower.len() != line.len() {
        return line.to_owned();
    }
    let mut shown = String::with_capacity(line.len());
    let mut at = 0;
    while at < line.len() {
        let rest = lower.get(at..).unwrap_or_default();
        let word = words.iter().filter(|word| rest.starts_with(word.as_str())).max_by_key(|word| word.len());
        let end = at + word.map_or_else(|| rest.chars().next().map_or(1, char::len_utf8), String::len);
        let Some(part) = line.get(at..end) else { return line.to_owned() };
        match word {
            Some(_) => {
                let _ = write!(shown, "{}{part}{}", colours.found, colours.reset);
            }
            None => shown.push_str(part),
        }
        at = end;
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(name: &str, snippet: Option<&str>) -> SearchMatch {
        SearchMatch {
            score: 0.5,
            path: "src/a.rs".to_owned(),
            line_start: 9,
            line_end: 10,
            name: name.to_owned(),
            lang: None,
            tags: Vec::new(),
            snippet: snippet.map(str::to_owned),
        }
    }

    #[test]
    fn a_match_is_printed_with_its_place_its_name_and_numbered_lines() {
        let shown = text(&[found("Stack::push", Some("fn push() {\n}"))], "push", &Colours::OFF);
        assert_eq!(shown, "src/a.rs:9-10 Stack::push 0.50\n    9 fn push() {\n   10 }\n\n");
        assert_eq!(text(&[], "push", &Colours::OFF), "No matches.\n");
    }

    #[test]
    fn words_of_the_query_are_coloured_and_control_characters_of_files_are_not_passed_on() {
        let line = highlighted("fn pushRoute(é) push", &["push".to_owned(), "pushroute".to_owned()], &Colours::ON);
        assert_eq!(line, "fn \x1b[1;31mpushRoute\x1b[0m(é) \x1b[1;31mpush\x1b[0m");
        let shown = text(&[found("", Some("a\x1b]0;x\x07b"))], "zzz", &Colours::OFF);
        assert!(!shown.contains('\x1b') && !shown.contains('\x07'), "{shown:?}");
    }
}
