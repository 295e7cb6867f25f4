//! Where comparing a query with every vector takes too long, and what comparing sketches first saves and misses. Measured in
//! the library, with vectors of source code as an index has them.

use std::fmt::{self, Write};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use mainstay_search::document::prepare;
use mainstay_search::embedding::{Embedder, built_in};
use mainstay_search::vectors::{ExactIndex, SketchIndex, VectorIndex, Vectors, sketch};
use rayon::prelude::*;
use serde::Serialize;

use crate::bench_support::process_cost::ProcessorTime;
use crate::bench_support::progress;
use crate::bench_support::sample::{Latencies, Percentiles, median};
use crate::search::generated_tree::Templates;

/// A search should have found the nearest vectors after this time.
const LIMIT_MS: f64 = 10.0;
const SIZES: [u32; 7] = [10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000];
const QUERIES: usize = 200;
const NEAREST: usize = 10;
/// No further round begins after this time.
const TIME_OF_A_SIZE: Duration = Duration::from_secs(15);
/// Files that are prepared at one go.
const BATCH: usize = 2_000;

#[derive(Serialize)]
pub(crate) struct ScanResults {
    sizes: Vec<ScanSize>,
    /// How many vectors there are when the exact scan's p99 passes the limit, between two sizes by interpolation.
    pub(crate) exact_passes_limit_at: Option<f64>,
    pub(crate) sketches_pass_limit_at: Option<f64>,
}

#[derive(Serialize)]
struct ScanSize {
    vectors: u32,
    /// Of each round.
    exact: Vec<Percentiles>,
    sketches: Vec<Percentiles>,
    /// How many of the ten nearest the sketches find.
    recall: f64,
    others_cores: Vec<f64>,
}

/// Stored vectors, as in a segment.
#[derive(Default)]
struct Stored {
    codes: Vec<u8>,
    scales: Vec<u8>,
}

pub(crate) fn run(templates: &Templates, most: u32, rounds: usize) -> Result<ScanResults> {
    let embedder = built_in()?;
    let dimensions = embedder.dimensions();
    progress(&format!("vectors: {most} of generated source files"));
    let stored = stored_vectors(templates, most, embedder)?;
    let all = Vectors::new(dimensions, &stored.codes, &stored.scales)?;
    let mut sketches = Vec::new();
    sketch(all, &mut sketches);
    let queries = templates.queries(QUERIES);
    let queries: Vec<Vec<f32>> = queries.iter().map(|query| embedded(query, embedder)).collect::<Result<_>>()?;
    let mut sizes = Vec::new();
    for vectors in SIZES.into_iter().filter(|size| *size <= most) {
        progress(&format!("vectors, {vectors}"));
        let count = vectors as usize;
        let some = Vectors::new(dimensions, &stored.codes[..count * dimensions], &stored.scales[..count * 4])?;
        let sketched = SketchIndex::new(some, &sketches[..count * (sketches.len() / all.len() as usize)])?;
        sizes.push(ScanSize::measure(vectors, &ExactIndex::new(some), &sketched, &queries, rounds)?);
    }
    Ok(ScanResults {
        exact_passes_limit_at: passes_limit_at(sizes.iter().map(|size| (size.vectors, p99(&size.exact)))),
        sketches_pass_limit_at: passes_limit_at(sizes.iter().map(|size| (size.vectors, p99(&size.sketches)))),
        sizes,
    })
}

/// The vectors of the chunks of generated files, as many as are wanted.
fn stored_vectors(templates: &Templates, most: u32, embedder: &dyn Embedder) -> Result<Stored> {
    let mut stored = Stored::default();
    let wanted = most as usize * embedder.dimensions();
    let mut next = 0;
    while stored.codes.len() < wanted {
        let prepared: Vec<Stored> = (next..next + BATCH)
            .into_par_iter()
            .map(|number| {
                let file = templates.file(number);
                let mut own = Stored::default();
                let prepared = prepare(&file.path, file.text.as_bytes(), 0, 0, [0; 16], embedder, &|| true);
                for chunk in prepared.into_iter().flat_map(|document| document.chunks) {
                    own.codes.extend(chunk.vector.iter().map(|code| code.cast_unsigned()));
                    own.scales.extend(chunk.scale.to_le_bytes());
                }
                own
            })
            .collect();
        let before = stored.codes.len();
        for own in prepared {
            stored.codes.extend(own.codes);
            stored.scales.extend(own.scales);
        }
        ensure!(stored.codes.len() > before, "the source files have no chunks");
        next += BATCH;
    }
    progress(&format!("vectors: {} chunks of {next} files", stored.scales.len() / 4));
    Ok(stored)
}

fn embedded(query: &str, embedder: &dyn Embedder) -> Result<Vec<f32>> {
    let mut vector = Vec::new();
    embedder.embed_query(query, &mut vector)?;
    Ok(vector)
}

impl ScanSize {
    fn measure(
        vectors: u32,
        exact: &ExactIndex<'_>,
        sketches: &SketchIndex<'_>,
        queries: &[Vec<f32>],
        rounds: usize,
    ) -> Result<Self> {
        // Brings the vectors into memory, and tells what the sketches find.
        let recall = recall(exact, sketches, queries)?;
        let mut size = Self { vectors, recall, exact: Vec::new(), sketches: Vec::new(), others_cores: Vec::new() };
        let (started, before) = (Instant::now(), ProcessorTime::of_ended()?);
        while size.exact.len() < rounds && (size.exact.is_empty() || started.elapsed() < TIME_OF_A_SIZE) {
            size.exact.push(time(exact, queries)?);
            size.sketches.push(time(sketches, queries)?);
        }
        let others = ProcessorTime::of_ended()?.others_since(before);
        size.others_cores.push(others / started.elapsed().as_secs_f64());
        Ok(size)
    }
}

fn time(index: &dyn VectorIndex, queries: &[Vec<f32>]) -> Result<Percentiles> {
    let mut latencies = Latencies::default();
    for query in queries {
        let start = Instant::now();
        index.search(query, NEAREST, None)?;
        latencies.record(start.elapsed());
    }
    Ok(latencies.percentiles())
}

/// The share of the nearest vectors that are found. Generated files have chunks in common, whose vectors are equal: any of
/// them is as good as another.
fn recall(exact: &ExactIndex<'_>, sketches: &SketchIndex<'_>, queries: &[Vec<f32>]) -> Result<f64> {
    let (mut wanted, mut found) = (0_u32, 0_u32);
    for query in queries {
        let nearest = exact.search(query, NEAREST, None)?;
        let Some((_, least)) = nearest.last() else { continue };
        let near = sketches.search(query, NEAREST, None)?.iter().filter(|(_, score)| score >= least).count();
        wanted += u32::try_from(nearest.len())?;
        found += u32::try_from(near)?;
    }
    Ok(f64::from(found) / f64::from(wanted.max(1)))
}

/// The median over rounds.
fn p50(rounds: &[Percentiles]) -> f64 {
    median(rounds.iter().map(|round| round.p50_ms).collect())
}

/// The median over rounds: one that other work disturbed does not decide.
fn p99(rounds: &[Percentiles]) -> f64 {
    median(rounds.iter().map(|round| round.p99_ms).collect())
}

/// Between the last size within the limit and the next one; `None` if all are within it.
fn passes_limit_at(sizes: impl Iterator<Item = (u32, f64)>) -> Option<f64> {
    let mut before = (0.0, 0.0);
    for (vectors, p99) in sizes {
        let vectors = f64::from(vectors);
        if p99 > LIMIT_MS {
            let share = (LIMIT_MS - before.1) / (p99 - before.1);
            return Some(before.0 + share * (vectors - before.0));
        }
        before = (vectors, p99);
    }
    None
}

impl ScanResults {
    pub(crate) fn others_cores(&self) -> impl Iterator<Item = f64> {
        self.sizes.iter().flat_map(|size| size.others_cores.iter().copied())
    }

    pub(crate) fn table(&self, out: &mut impl Write) -> fmt::Result {
        let title = "nearest 10 vectors, in the library";
        write!(out, "\n{title:<36}{:>16}{:>12}", "exact p50 ms", "p99 ms")?;
        writeln!(out, "{:>18}{:>12}{:>12}", "sketches p50 ms", "p99 ms", "recall@10")?;
        for ScanSize { vectors, exact, sketches, recall, .. } in &self.sizes {
            write!(out, "{:<36}{:>16.2}{:>12.2}", format!("{vectors} vectors"), p50(exact), p99(exact))?;
            writeln!(out, "{:>18.2}{:>12.2}{recall:>12.4}", p50(sketches), p99(sketches))?;
        }
        for (what, at) in [("the exact scan", self.exact_passes_limit_at), ("sketches", self.sketches_pass_limit_at)] {
            match at {
                Some(vectors) => writeln!(out, "  p99 of {what} passes {LIMIT_MS} ms at about {vectors:.0} vectors")?,
                None => writeln!(out, "  p99 of {what} stays within {LIMIT_MS} ms")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_passed_between_two_sizes() {
        let at = passes_limit_at([(10_000, 5.0), (20_000, 15.0)].into_iter()).unwrap();
        assert!((at - 15_000.0).abs() < 1e-6);
        assert_eq!(passes_limit_at([(10_000, 5.0)].into_iter()), None);
        assert_eq!(passes_limit_at(std::iter::empty()), None);
    }
}
