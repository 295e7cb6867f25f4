//! Searches, against ripgrep itself on the same files under the same rules.

use std::path::Path;
use std::process::Stdio;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use memchr::memchr_iter;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::json;
use yardstick::message::tool_call;
use yardstick::progress;
use yardstick::servers::{command, tool};

use crate::Settings;
use crate::contender::{Field, MAINSTAY};
use crate::ground::Ground;
use crate::reply;
use crate::timing::{Timed, Timing};

pub(crate) const RIPGREP: &str = "ripgrep";

const PAGE: usize = 10_000;
/// What is searched for: a name for people, and the pattern.
const PATTERNS: [(&str, &str); 3] =
    [("rare word", "quetzal"), ("common word", "lantern"), ("regex", r"\bfn [a-z]+_[0-9]{3}\(")];
const TREES: [(&str, &str); 2] = [("small files", "tree"), ("large files", "texts")];

struct Question {
    pattern: &'static str,
    tree: &'static str,
    mainstay: Timing,
    ripgrep: Timing,
}

pub(crate) async fn run(field: &mut Field, ground: &Ground, settings: &Settings) -> Result<Vec<Timing>> {
    let mut questions: Vec<Question> = names()
        .map(|(what, tree, pattern)| Question {
            pattern,
            tree,
            mainstay: Timing::new(what.clone(), MAINSTAY),
            ripgrep: Timing::new(what, RIPGREP),
        })
        .collect();
    for round in 0..=settings.rounds {
        progress(&format!("searches, round {round} of {}", settings.rounds));
        for question in &mut questions {
            question.round(field, ground, settings, round).await?;
        }
    }
    let timings = questions.into_iter().flat_map(|question| [question.mainstay, question.ripgrep]);
    Ok(timings.filter(|timing| !timing.rounds_ms.is_empty()).collect())
}

/// Every search by name, with the directory searched and the pattern.
pub(crate) fn names() -> impl Iterator<Item = (String, &'static str, &'static str)> {
    TREES.into_iter().flat_map(|(files, tree)| {
        PATTERNS.into_iter().map(move |(name, pattern)| (format!("{name}, {files}"), tree, pattern))
    })
}

impl Question {
    async fn round(&mut self, field: &mut Field, ground: &Ground, settings: &Settings, round: usize) -> Result<()> {
        let ours_first = round.is_multiple_of(2);
        let mut ours = None;
        if ours_first && !settings.peers_only {
            ours = Some(search(field, self.tree, self.pattern).await?);
        }
        let theirs = ripgrep(&ground.root, self.tree, self.pattern).await?;
        if !ours_first && !settings.peers_only {
            ours = Some(search(field, self.tree, self.pattern).await?);
        }
        if let Some(Timed { found, .. }) = ours {
            let (pattern, tree, wanted) = (self.pattern, self.tree, theirs.found);
            ensure!(found == wanted, "{pattern:?} in {tree}: {found} lines found, ripgrep finds {wanted}");
        }
        // The first round brings the files into memory.
        if round > 0 {
            self.ripgrep.push(theirs);
            if let Some(ours) = ours {
                self.mainstay.push(ours);
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
async fn search(field: &mut Field, tree: &str, pattern: &str) -> Result<Timed> {
    let mainstay = field.named(MAINSTAY)?;
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
            return Ok(Timed { took: started.elapsed(), found });
        }
    }
}

/// From before the process is made until it has ended and all it printed is here. Files are chosen as the tools do:
/// hidden ones too, by `.gitignore` with or without a repository, and by no rule from outside the workspace.
async fn ripgrep(root: &Path, tree: &str, pattern: &str) -> Result<Timed> {
    let mut rg = command(&tool("rg")?);
    rg.args(["--no-config", "--hidden", "--no-require-git", "--no-ignore-parent", "--no-ignore-global"]);
    rg.args(["--line-number", "--with-filename", "--no-heading", "--color", "never", "--regexp", pattern, tree]);
    rg.current_dir(root).stdin(Stdio::null()).stderr(Stdio::piped());
    let started = Instant::now();
    let output = rg.output().await.context("ripgrep could not be started")?;
    let took = started.elapsed();
    ensure!(output.status.success(), "ripgrep failed: {}", String::from_utf8_lossy(&output.stderr));
    Ok(Timed { took, found: memchr_iter(b'\n', &output.stdout).count() })
}
