//! A large workspace: what it takes to index it, to keep the index, and to search it.

use std::fmt::{self, Write};
use std::path::Path;
use std::time::Instant;

use anyhow::{Result, ensure};
use serde::Serialize;

use crate::bench_support::process_cost::Memory;
use crate::bench_support::program_run::{ProgramRun, RunSeries};
use crate::bench_support::progress;
use crate::bench_support::sample::{Latencies, Percentiles};
use crate::bench_support::servers::{Build, Programs};
use crate::bench_support::target::megabytes;
use crate::search::generated_tree::Templates;
use crate::search::mainstay::{self, Found, IndexReport, MAINSTAY};
use crate::search::repository;

const QUERIES: usize = 500;
const RESULTS: usize = 10;

#[derive(Serialize)]
pub(crate) struct ScaleResults {
    files: usize,
    source_bytes: u64,
    chunks: u64,
    index: RunSeries,
    /// The data directory after the index was made.
    disk_bytes: u64,
    /// The first query of a server that has just started.
    first_ms: f64,
    pub(crate) queries: Percentiles,
    serving: Memory,
}

pub(crate) async fn run(
    programs: &Programs,
    scratch: &Path,
    templates: &Templates,
    files: usize,
) -> Result<ScaleResults> {
    let root = scratch.join("scale");
    progress(&format!("scale: generating {files} files of {} templates", templates.count()));
    let source_bytes = templates.write(&root, files)?;
    // Without a commit: to make one takes git longer than all the rest.
    repository::init(&root).await?;
    let data = scratch.join("scale-data");
    progress(&format!("scale: indexing {:.0} MB", megabytes(source_bytes)));
    let run = ProgramRun::of(mainstay::index(programs, Build::Current, &data, &root)?).await?;
    let report = IndexReport::parse(&run.stdout)?;
    // A few may look as if a program had written them, by the words that they got.
    ensure!(report.files * 100 >= files as u64 * 99, "{} of {files} files are indexed", report.files);
    let mut index = RunSeries::new(MAINSTAY);
    // There is one round, and it counts.
    index.push(1, &run);
    let disk_bytes = size(&data)?;
    progress("scale: queries");
    let queries = templates.queries(QUERIES);
    let mut server = mainstay::serve(programs, Build::Current, &data, &root, scratch).await?;
    let first = mainstay::first_answer(&mut server, &queries[0]).await?;
    let mut latencies = Latencies::default();
    for query in &queries {
        let call = mainstay::search(query, RESULTS);
        let sent = Instant::now();
        let line = server.ask(&call).await?;
        latencies.record(sent.elapsed());
        ensure!(!Found::parse(&line)?.matches.is_empty(), "nothing is found for {query:?}");
    }
    let serving = Memory::of(server.server.pid)?;
    server.server.stop().await?;
    Ok(ScaleResults {
        files,
        source_bytes,
        chunks: report.chunks,
        index,
        disk_bytes,
        first_ms: first.as_secs_f64() * 1e3,
        queries: latencies.percentiles(),
        serving,
    })
}

/// All files of a directory together.
fn size(directory: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        bytes += if metadata.is_dir() { size(&entry.path())? } else { metadata.len() };
    }
    Ok(bytes)
}

impl ScaleResults {
    pub(crate) fn table(&self, out: &mut impl Write) -> fmt::Result {
        let Self { files, source_bytes, chunks, index, disk_bytes, first_ms, queries, serving } = self;
        writeln!(out, "\n{:<52}{:>14}", format!("generated workspace, {files} files"), MAINSTAY)?;
        let mut row = |what: &str, figure: f64, decimals| writeln!(out, "{what:<52}{figure:>14.decimals$}");
        row("source, MB", megabytes(*source_bytes), 1)?;
        row("chunks, thousands", megabytes(chunks * 1000), 1)?;
        row("index, seconds", index.rounds_ms.iter().sum::<f64>() / 1e3, 1)?;
        row("index, CPU seconds", index.processor_ms.iter().sum::<f64>() / 1e3, 1)?;
        row("index, peak MB", megabytes(index.peak_bytes), 1)?;
        row("data directory, MB", megabytes(*disk_bytes), 1)?;
        row("first query of a server, ms", *first_ms, 2)?;
        row("query, p50 ms", queries.p50_ms, 2)?;
        row("query, p99 ms", queries.p99_ms, 2)?;
        row("server, RSS MB", megabytes(serving.rss_bytes), 1)?;
        row("server, of that not from files, MB", megabytes(serving.anonymous_bytes), 1)?;
        row("server, peak MB", megabytes(serving.peak_bytes), 1)
    }
}
