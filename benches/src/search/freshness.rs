//! How long after an edit a running server finds what was written.

use std::fmt::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde::Serialize;

use crate::bench_support::program_run::ProgramRun;
use crate::bench_support::progress;
use crate::bench_support::sample::{Latencies, Percentiles};
use crate::bench_support::servers::{Build, Programs};
use crate::bench_support::stdio::StdioServer;
use crate::search::mainstay::{self, Found};
use crate::search::{repository, source_files};

const EDITS: usize = 50;
const RESULTS: usize = 10;
const EXTENSION: &str = "rs";
/// What is not found by then never will be.
const LIMIT: Duration = Duration::from_secs(30);
/// Between two queries, so that they do not take the processor from the server's own work.
const PAUSE: Duration = Duration::from_millis(1);

/// Words for names that no source has.
const WORDS: [&str; 10] =
    ["quetzal", "zeppelin", "obsidian", "marzipan", "tundra", "saffron", "walrus", "gondola", "isthmus", "juniper"];

#[derive(Serialize)]
pub(crate) struct FreshnessResults {
    files: usize,
    pub(crate) edits: Percentiles,
    /// Queries that were asked until the edits were found; one for each is the least.
    queries: usize,
}

pub(crate) async fn run(programs: &Programs, scratch: &Path, sources: &Path) -> Result<FreshnessResults> {
    let root = scratch.join("edited");
    let files = source_files::copy_only(EXTENSION, sources, &root)?;
    ensure!(files > 0, "{} has no .{EXTENSION} files", sources.display());
    let paths = paths(&root)?;
    repository::commit_all(&root).await?;
    let data = scratch.join("edited-data");
    ProgramRun::of(mainstay::index(programs, Build::Current, &data, &root)?).await?;
    let mut server = mainstay::serve(programs, Build::Current, &data, &root, scratch).await?;
    mainstay::first_answer(&mut server, "read from a socket").await?;
    let mut latencies = Latencies::default();
    let mut queries = 0;
    for edit in 0..EDITS {
        progress(&format!("freshness, edit {} of {EDITS}", edit + 1));
        // Another file each time, and far from the one before.
        let path = &paths[edit * 7 % paths.len()];
        let (took, asked) = time_edit(&mut server, &root, path, edit).await?;
        latencies.record(took);
        queries += asked;
    }
    server.server.stop().await?;
    Ok(FreshnessResults { files, edits: latencies.percentiles(), queries })
}

/// From when the file is written until an answer has the new lines.
async fn time_edit(server: &mut StdioServer, root: &Path, path: &Path, edit: usize) -> Result<(Duration, usize)> {
    let file = root.join(path);
    let mut text = std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    let lines = text.lines().count() as u64;
    let name = name(edit);
    write!(text, "\n/// Says what the {name} is.\npub fn {name}() -> usize {{\n    {edit}\n}}\n")?;
    std::fs::write(&file, text)?;
    let written = Instant::now();
    let call = mainstay::search(&name, RESULTS);
    let wanted = path.to_string_lossy();
    let mut asked = 0;
    while written.elapsed() < LIMIT {
        asked += 1;
        let line = server.ask(&call).await?;
        // The file may be found by its old content, too; only the new one has lines after the old end.
        let is_new = |found: &mainstay::Metadata| {
            found.path.ends_with(&*wanted) && found.line_end.is_some_and(|last| last > lines)
        };
        if Found::parse(&line)?.matches.iter().any(|one| is_new(&one.metadata)) {
            return Ok((written.elapsed(), asked));
        }
        tokio::time::sleep(PAUSE).await;
    }
    bail!("{name} is not found, {} s after it was written to {wanted}", LIMIT.as_secs());
}

/// Two words, and another pair for each edit.
fn name(edit: usize) -> String {
    let word = |place: usize| WORDS[place % WORDS.len()];
    format!("{}_{}", word(edit), word(edit / WORDS.len() + edit + 1))
}

/// All files of the tree, relative to its root, in the order of their paths.
fn paths(root: &Path) -> Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    let mut directories = vec![root.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(&directory)? {
            let path = entry?.path();
            if path.is_dir() {
                directories.push(path);
            } else {
                paths.push(path.strip_prefix(root)?.to_owned());
            }
        }
    }
    paths.sort();
    Ok(paths)
}

impl FreshnessResults {
    pub(crate) fn table(&self, out: &mut impl Write) -> fmt::Result {
        let Self { files, edits, queries } = self;
        let title = format!("an edit until it is found, {files} files");
        writeln!(out, "\n{title:<52}{:>12}{:>12}{:>12}", "p50 ms", "p99 ms", "queries")?;
        let row = format!("mainstay, {} edits", edits.count);
        writeln!(out, "{row:<52}{:>12.2}{:>12.2}{queries:>12}", edits.p50_ms, edits.p99_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_edit_has_a_name_of_its_own() {
        let names: std::collections::BTreeSet<String> = (0..EDITS).map(name).collect();
        assert_eq!(names.len(), EDITS);
    }
}
