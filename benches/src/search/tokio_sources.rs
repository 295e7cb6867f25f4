//! Indexing and searching the sources of tokio, beside semble.

use std::fmt::{self, Write};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::Serialize;

use crate::bench_support::options::Settings;
use crate::bench_support::process_cost::Memory;
use crate::bench_support::program_run::{ProgramRun, RunSeries};
use crate::bench_support::report::ratio_row;
use crate::bench_support::sample::{Latencies, Ratio, median};
use crate::bench_support::servers::{Build, Programs, Server};
use crate::bench_support::stdio::StdioServer;
use crate::bench_support::target::megabytes;
use crate::bench_support::{progress, turns};
use crate::search::mainstay::{self, Found, IndexReport, MAINSTAY};
use crate::search::semble::{self, Built, SEMBLE, Semble};
use crate::search::{queries, repository, source_files};

const QUERIES: usize = 200;
const RESULTS: usize = 10;
const EXTENSION: &str = "rs";

#[derive(Serialize)]
pub(crate) struct TokioResults {
    files: usize,
    index: Vec<RunSeries>,
    /// Processor time of semble without the start of Python, in milliseconds.
    semble_index_alone_ms: Vec<f64>,
    chunks: Vec<(&'static str, u64)>,
    warm: Vec<Warm>,
}

/// A process that has answered every query before.
#[derive(Serialize)]
struct Warm {
    who: &'static str,
    p50_ms: Vec<f64>,
    p99_ms: Vec<f64>,
    peak_bytes: u64,
}

pub(crate) struct Comparison<'a> {
    pub(crate) programs: &'a Programs,
    pub(crate) scratch: &'a Path,
    pub(crate) settings: &'a Settings,
    pub(crate) semble: Option<&'a Semble>,
}

/// Who takes part: a build, or semble if `None`.
type Contender = Option<Build>;

fn name(contender: Contender) -> &'static str {
    contender.map_or(SEMBLE, mainstay::name)
}

impl Comparison<'_> {
    pub(crate) async fn run(&self, sources: &Path) -> Result<TokioResults> {
        let root = self.scratch.join("tokio");
        let files = source_files::copy_only(EXTENSION, sources, &root)?;
        ensure!(files > 0, "{} has no .{EXTENSION} files", sources.display());
        let texts = source_files::texts(EXTENSION, &root)?;
        repository::commit_all(&root).await?;
        let queries = queries::from_sources(texts.iter().map(String::as_str), QUERIES);
        let builds = self.settings.builds.iter().copied().map(Some);
        let all: Vec<Contender> = builds.chain(self.semble.map(|_| None)).collect();
        let mut results = TokioResults {
            files,
            index: all.iter().map(|who| RunSeries::new(name(*who))).collect(),
            semble_index_alone_ms: Vec::new(),
            chunks: Vec::new(),
            warm: Vec::new(),
        };
        self.index(&all, &root, &mut results).await?;
        results.warm = self.search(&all, &root, &queries).await?;
        Ok(results)
    }

    fn data(&self, build: Build, round: usize) -> std::path::PathBuf {
        self.scratch.join(format!("tokio-{}-{round}", mainstay::name(build)))
    }

    /// From nothing, round by round. The first round brings the files into memory and is not counted.
    async fn index(&self, all: &[Contender], root: &Path, results: &mut TokioResults) -> Result<()> {
        for round in 0..=self.settings.rounds {
            progress(&format!("tokio, index, round {round} of {}", self.settings.rounds));
            results.chunks.clear();
            for at in turns(round, all.len()) {
                let who = name(all[at]);
                let command = match all[at] {
                    Some(build) => mainstay::index(self.programs, build, &self.data(build, round), root)?,
                    None => self.semble.context("no semble")?.index(root, &format!("round-{round}"))?,
                };
                let run = ProgramRun::of(command).await?;
                let (files, chunks) = if all[at].is_some() {
                    let IndexReport { files, chunks, .. } = IndexReport::parse(&run.stdout)?;
                    (files, chunks)
                } else {
                    let built: Built = serde_json::from_slice(&run.stdout)?;
                    if round > 0 {
                        results.semble_index_alone_ms.push(built.processor_seconds * 1e3);
                    }
                    (built.files, built.chunks)
                };
                // Who left files out would be fast. A few may be empty.
                ensure!(files * 100 >= results.files as u64 * 95, "{who} has indexed {files} of {}", results.files);
                results.chunks.push((who, chunks));
                results.index[at].push(round, &run);
            }
        }
        Ok(())
    }

    async fn search(&self, all: &[Contender], root: &Path, queries: &[String]) -> Result<Vec<Warm>> {
        let mut processes = Vec::new();
        for contender in all {
            processes.push(if let Some(build) = *contender {
                let data = self.data(build, self.settings.rounds);
                let mut server = mainstay::serve(self.programs, build, &data, root, self.scratch).await?;
                mainstay::first_answer(&mut server, &queries[0]).await?;
                Process::Mainstay(server)
            } else {
                let mut process = self.semble.context("no semble")?.serve("tokio")?;
                process.index(root).await?;
                Process::Semble(process)
            });
        }
        let named = |who: &Contender| Warm { who: name(*who), p50_ms: vec![], p99_ms: vec![], peak_bytes: 0 };
        let mut warm: Vec<Warm> = all.iter().map(named).collect();
        for round in 0..=self.settings.rounds {
            progress(&format!("tokio, queries, round {round} of {}", self.settings.rounds));
            for at in turns(round, all.len()) {
                let times = processes[at].round(queries).await?.percentiles();
                // The first round brings the index into memory.
                if round > 0 {
                    warm[at].p50_ms.push(times.p50_ms);
                    warm[at].p99_ms.push(times.p99_ms);
                }
            }
        }
        for (warm, process) in warm.iter_mut().zip(processes) {
            let server = process.into_server();
            warm.peak_bytes = Memory::peak(server.pid)?;
            server.stop().await?;
        }
        Ok(warm)
    }
}

enum Process {
    Mainstay(StdioServer),
    Semble(semble::Process),
}

impl Process {
    /// Every query once, one after the other. Mainstay's time is that of its client, semble's that of its function.
    async fn round(&mut self, queries: &[String]) -> Result<Latencies> {
        let mut latencies = Latencies::default();
        for query in queries {
            let (took, found) = match self {
                Self::Mainstay(server) => {
                    let call = mainstay::search(query, RESULTS);
                    let sent = std::time::Instant::now();
                    let line = server.ask(&call).await?;
                    (sent.elapsed(), Found::parse(&line)?.matches.len())
                }
                Self::Semble(process) => {
                    let found = process.search(query, RESULTS).await?;
                    (found.took(), found.paths.len())
                }
            };
            ensure!(found > 0, "nothing is found for {query:?}");
            latencies.record(took);
        }
        Ok(latencies)
    }

    fn into_server(self) -> Server {
        match self {
            Self::Mainstay(server) => server.server,
            Self::Semble(process) => process.server,
        }
    }
}

impl TokioResults {
    /// Mainstay's processor time for the index over that of semble's program.
    pub(crate) fn processor_ratio(&self) -> Option<Ratio> {
        RunSeries::processor_ratio(&self.index, MAINSTAY, SEMBLE)
    }

    /// Of the warm processes that queries were sent to, the most that was resident.
    pub(crate) fn memory_ratio(&self) -> Option<f64> {
        let of = |who: &str| self.warm.iter().find(|warm| warm.who == who).map(|warm| megabytes(warm.peak_bytes));
        Some(of(MAINSTAY)? / of(SEMBLE)?)
    }

    pub(crate) fn query_ratio(&self) -> Option<Ratio> {
        self.ratio(|warm| &warm.p50_ms)
    }

    fn ratio(&self, figures: fn(&Warm) -> &Vec<f64>) -> Option<Ratio> {
        let find = |who: &str| self.warm.iter().find(|warm| warm.who == who).map(figures);
        Some(Ratio::of_pairs(find(MAINSTAY)?, find(SEMBLE)?))
    }

    /// The index runs, for comparing with a baseline.
    pub(crate) fn processor_ms(&self, who: &str) -> Option<&[f64]> {
        self.index.iter().find(|runs| runs.who == who).map(|runs| &runs.processor_ms[..])
    }

    pub(crate) fn query_ms(&self, who: &str) -> Option<&[f64]> {
        self.warm.iter().find(|warm| warm.who == who).map(|warm| &warm.p50_ms[..])
    }

    pub(crate) fn others_cores(&self) -> impl Iterator<Item = f64> {
        self.index.iter().flat_map(|runs| runs.others_cores.iter().copied())
    }

    pub(crate) fn table(&self, out: &mut impl Write) -> fmt::Result {
        let title = format!("index of tokio, {} files, from nothing", self.files);
        writeln!(out, "\n{title:<52}{:>12}{:>12}{:>12}{:>12}", "ms", "CPU ms", "peak MB", "chunks")?;
        for runs in &self.index {
            let chunks = self.chunks.iter().find(|(who, _)| *who == runs.who).map_or(0, |(_, chunks)| *chunks);
            let (took, processor) = (median(runs.rounds_ms.clone()), median(runs.processor_ms.clone()));
            let peak = megabytes(runs.peak_bytes);
            writeln!(out, "{:<52}{took:>12.1}{processor:>12.1}{peak:>12.1}{chunks:>12}", runs.who)?;
        }
        if !self.semble_index_alone_ms.is_empty() {
            let alone = median(self.semble_index_alone_ms.clone());
            writeln!(out, "{:<52}{:>12}{alone:>12.1}", format!("{SEMBLE}, without the start of Python"), "")?;
        }
        self.ratios(out)?;
        let title = format!("{QUERIES} queries of tokio in a warm process");
        writeln!(out, "\n{title:<52}{:>12}{:>12}{:>12}", "p50 ms", "p99 ms", "peak MB")?;
        for Warm { who, p50_ms, p99_ms, peak_bytes } in &self.warm {
            let (p50, p99) = (median(p50_ms.clone()), median(p99_ms.clone()));
            writeln!(out, "{who:<52}{p50:>12.2}{p99:>12.2}{:>12.1}", megabytes(*peak_bytes))?;
        }
        for (what, ratio) in [("p50", self.query_ratio()), ("p99", self.ratio(|warm| &warm.p99_ms))] {
            if let Some(ratio) = ratio {
                ratio_row(out, &format!("{what} of a query, {MAINSTAY} / {SEMBLE}"), ratio)?;
            }
        }
        Ok(())
    }

    fn ratios(&self, out: &mut impl Write) -> fmt::Result {
        if let Some(ratio) = self.processor_ratio() {
            ratio_row(out, &format!("CPU, {MAINSTAY} / {SEMBLE}"), ratio)?;
        }
        if let Some(ours) = self.processor_ms(MAINSTAY).filter(|_| !self.semble_index_alone_ms.is_empty()) {
            let alone = Ratio::of_pairs(ours, &self.semble_index_alone_ms);
            ratio_row(out, &format!("CPU, {MAINSTAY} / {SEMBLE} without the start of Python"), alone)?;
        }
        let ratio = RunSeries::ratio(&self.index, MAINSTAY, SEMBLE);
        ratio.map_or(Ok(()), |ratio| ratio_row(out, &format!("time, {MAINSTAY} / {SEMBLE}"), ratio))
    }
}
