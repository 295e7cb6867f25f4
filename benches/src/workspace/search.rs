//! Searches, against ripgrep itself on the same files under the same rules.

use std::path::Path;
use std::process::Stdio;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use memchr::memchr_iter;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::json;

use crate::bench_support::message::tool_call;
use crate::bench_support::options::Settings;
use crate::bench_support::reply;
use crate::bench_support::servers::{command, tool};
use crate::bench_support::{progress, turns};
use crate::workspace::contenders::{Contenders, MAINSTAY, named_for};
use crate::workspace::files::WorkspaceFiles;
use crate::workspace::timing::{Elapsed, Timing};

pub(crate) const RIPGREP: &str = "ripgrep";

const PAGE: usize = 10_000;
/// What is searched for: a name for people, and the pattern.
const PATTERNS: [(&str, &str); 3] =
    [("rare word", "quetzal"), ("common word", "lantern"), ("regex", r"\bfn [a-z]+_[0-9]{3}\(")];
const TREES: [(&str, &str); 2] = [("small files", "tree"), ("large files", "texts")];

struct Search {
    pattern: &'static str,
    tree: &'static str,
    /// One for each who searches: contenders by their name, and ripgrep.
    timings: Vec<Timing>,
}

pub(crate) async fn run(
    contenders: &mut Contenders,
    files: &WorkspaceFiles,
    settings: &Settings,
) -> Result<Vec<Timing>> {
    let mut searchers: Vec<&'static str> = settings.builds.iter().map(|build| named_for(*build, MAINSTAY)).collect();
    if settings.peers {
        searchers.push(RIPGREP);
    }
    let mut searches: Vec<Search> = names()
        .map(|(what, tree, pattern)| {
            let timings = searchers.iter().map(|who| Timing::new(what.clone(), who)).collect();
            Search { pattern, tree, timings }
        })
        .collect();
    for round in 0..=settings.rounds {
        progress(&format!("searches, round {round} of {}", settings.rounds));
        for search in &mut searches {
            search.round(contenders, files, round).await?;
        }
    }
    Ok(searches.into_iter().flat_map(|search| search.timings).collect())
}

/// Every search by name, with the directory searched and the pattern.
pub(crate) fn names() -> impl Iterator<Item = (String, &'static str, &'static str)> {
    TREES.into_iter().flat_map(|(files, tree)| {
        PATTERNS.into_iter().map(move |(name, pattern)| (format!("{name}, {files}"), tree, pattern))
    })
}

impl Search {
    async fn round(&mut self, contenders: &mut Contenders, files: &WorkspaceFiles, round: usize) -> Result<()> {
        let (tree, pattern) = (self.tree, self.pattern);
        let mut found = None;
        for at in turns(round, self.timings.len()) {
            let timing = &mut self.timings[at];
            let elapsed = match timing.who {
                RIPGREP => ripgrep(&files.root, tree, pattern).await?,
                who => search(contenders, who, tree, pattern).await?,
            };
            let wanted = *found.get_or_insert(elapsed.found);
            let (who, lines) = (timing.who, elapsed.found);
            ensure!(lines == wanted, "{pattern:?} in {tree}: {who} finds {lines} lines, the one before {wanted}");
            // The first round brings the files into memory.
            if round > 0 {
                timing.push(elapsed);
            }
        }
        Ok(())
    }
}

#[derive(Deserialize)]
struct Page {
    next_cursor: Option<String>,
    files: Vec<Matched>,
}

#[derive(Deserialize)]
struct Matched {
    matches: Vec<IgnoredAny>,
}

/// To the complete answer: page after page, each received and read.
async fn search(contenders: &mut Contenders, who: &str, tree: &str, pattern: &str) -> Result<Elapsed> {
    let mainstay = contenders.named(who)?;
    let mut cursor: Option<String> = None;
    let mut found = 0;
    let started = Instant::now();
    loop {
        let arguments = json!({ "path": tree, "pattern": pattern, "limit": PAGE, "cursor": cursor });
        let line = mainstay.server.ask(&tool_call("files_grep", &arguments)).await?;
        let page: Page = reply::structured(&line)?;
        found += page.files.iter().map(|file| file.matches.len()).sum::<usize>();
        cursor = page.next_cursor;
        if cursor.is_none() {
            return Ok(Elapsed { took: started.elapsed(), found });
        }
    }
}

/// From before the process is made until it has ended and all it printed is here. Files are chosen as the tools do:
/// hidden ones too, by `.gitignore` with or without a repository, and by no rule from outside the workspace.
async fn ripgrep(root: &Path, tree: &str, pattern: &str) -> Result<Elapsed> {
    let mut rg = command(&tool("rg")?);
    rg.args(["--no-config", "--hidden", "--no-require-git", "--no-ignore-parent", "--no-ignore-global"]);
    rg.args(["--line-number", "--with-filename", "--no-heading", "--color", "never", "--regexp", pattern, tree]);
    rg.current_dir(root).stdin(Stdio::null()).stderr(Stdio::piped());
    let started = Instant::now();
    let output = rg.output().await.context("ripgrep could not be started")?;
    let took = started.elapsed();
    ensure!(output.status.success(), "ripgrep failed: {}", String::from_utf8_lossy(&output.stderr));
    Ok(Elapsed { took, found: memchr_iter(b'\n', &output.stdout).count() })
}
