//! How good the results are: NDCG@10 of queries whose answers are known.

mod library_index;
mod ndcg;
mod query_sets;
mod report;

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result};
use mainstay_search::embedding::{Embedder, built_in};
use mainstay_search::ranking::{Granularity, MAX_RESULTS, Request, search};
use serde::Serialize;

use crate::bench_support::progress;
use crate::bench_support::sample::{Latencies, Percentiles};
use crate::search::semble::{self, Semble};

use library_index::{LibraryIndex, Summary, path_of_function};
use ndcg::{Scores, mean, ndcg, ndcg_of_files};
use query_sets::{FileQuery, FunctionQueries, RepositoryQueries, of_functions, of_repositories};

/// The kind of the queries that are a name and nothing else.
pub(crate) const SYMBOL: &str = "symbol";

/// Each query about a repository is timed so often.
const REPEATS: usize = 3;

/// How the queries are asked.
pub(crate) struct Quality<'a> {
    /// The directory of the query sets.
    pub(crate) queries: &'a Path,
    /// The directory of the checkouts; without it, queries about repositories are left out.
    pub(crate) corpus: Option<&'a Path>,
    pub(crate) semble: Option<&'a Semble>,
    /// Whether tokens, files and definitions decide on the order, or vectors and words alone.
    pub(crate) rerank: bool,
    /// Whether the score and the first files of each query are printed.
    pub(crate) each: bool,
}

#[derive(Default, Serialize)]
pub(crate) struct QualityResults {
    pub(crate) functions: Vec<FunctionScores>,
    pub(crate) repositories: Vec<RepositoryScores>,
}

/// One list of functions: each sentence must find its function.
#[derive(Serialize)]
pub(crate) struct FunctionScores {
    pub(crate) name: String,
    /// By language.
    pub(crate) scores: Scores,
    index: Summary,
    queries: Percentiles,
}

/// One repository: each query must find its files.
#[derive(Serialize)]
pub(crate) struct RepositoryScores {
    name: String,
    /// By kind of query.
    mainstay: Scores,
    semble: Option<Scores>,
    index: Summary,
    queries: Percentiles,
}

impl QualityResults {
    /// The mean of the repositories' means, as semble reports it.
    pub(crate) fn mean_of_repositories(&self) -> Option<f64> {
        mean(self.repositories.iter().filter_map(|repository| repository.mainstay.mean()))
    }

    pub(crate) fn mean_of_kind(&self, kind: &str) -> Option<f64> {
        self.by_kind().mean_of(kind)
    }

    fn by_kind(&self) -> Scores {
        let mut all = Scores::default();
        self.repositories.iter().for_each(|repository| all.extend(&repository.mainstay));
        all
    }

    fn by_kind_of_semble(&self) -> Scores {
        let mut all = Scores::default();
        self.repositories.iter().filter_map(|repository| repository.semble.as_ref()).for_each(|one| all.extend(one));
        all
    }
}

pub(crate) async fn run(quality: &Quality<'_>) -> Result<QualityResults> {
    let embedder = built_in()?;
    let mut results = QualityResults::default();
    for set in of_functions(quality.queries).await? {
        progress(&format!("quality, {}", set.name));
        results.functions.push(quality.functions(&set, embedder)?);
    }
    let Some(corpus) = quality.corpus else {
        progress("quality of repositories is left out: give the directory of their checkouts with --corpus");
        return Ok(results);
    };
    let mut process = quality.semble.map(|semble| semble.serve("quality")).transpose()?;
    for set in of_repositories(quality.queries).await? {
        progress(&format!("quality, {}", set.name));
        let root = corpus.join(&set.name).join(&set.root);
        let mut scores = quality.repository(&set, &root, embedder)?;
        if let Some(process) = &mut process {
            scores.semble = Some(scores_of_semble(process, &set, &root).await?);
        }
        results.repositories.push(scores);
    }
    if let Some(process) = process {
        process.server.stop().await?;
    }
    Ok(results)
}

impl Quality<'_> {
    fn functions(&self, set: &FunctionQueries, embedder: &dyn Embedder) -> Result<FunctionScores> {
        let functions = set.docs.iter().map(|function| (function.name.as_str(), function.code.as_str()));
        let index = LibraryIndex::of_functions(functions, embedder)?;
        let snapshot = index.snapshot();
        let (mut scores, mut latencies) = (Scores::default(), Latencies::default());
        for query in &set.queries {
            // There are no files to rank by: each function is a document.
            let request = Request { granularity: Granularity::Chunk, ..self.request(&query.query) };
            let start = Instant::now();
            let answer = search(&snapshot, embedder, &request)?;
            latencies.record(start.elapsed());
            let wanted = path_of_function(query.function);
            let score = ndcg(answer.hits.iter().position(|hit| hit.path == wanted).into_iter(), 1);
            scores.add(&query.lang, score);
            if self.each {
                progress(&format!("    {score:.3} {}|{}", set.name, query.query));
            }
        }
        let queries = latencies.percentiles();
        Ok(FunctionScores { name: set.name.clone(), scores, index: index.summary, queries })
    }

    fn repository(&self, set: &RepositoryQueries, root: &Path, embedder: &dyn Embedder) -> Result<RepositoryScores> {
        let index = LibraryIndex::of_directory(root, embedder)?;
        anyhow::ensure!(index.summary.documents > 0, "there is no checkout in {}", root.display());
        let snapshot = index.snapshot();
        let (mut scores, mut latencies) = (Scores::default(), Latencies::default());
        for query in &set.queries {
            let request = self.request(&query.query);
            let mut hits = Vec::new();
            for _ in 0..REPEATS {
                let start = Instant::now();
                hits = search(&snapshot, embedder, &request)?.hits;
                latencies.record(start.elapsed());
            }
            let paths: Vec<String> = hits.iter().map(|hit| in_checkout(&set.root, &hit.path)).collect();
            let score = self.score(set, query, &paths);
            scores.add(&query.category, score);
        }
        Ok(RepositoryScores {
            name: set.name.clone(),
            mainstay: scores,
            semble: None,
            index: index.summary,
            queries: latencies.percentiles(),
        })
    }

    fn request<'q>(&self, query: &'q str) -> Request<'q> {
        Request { query, top_k: MAX_RESULTS, rerank: self.rerank, ..Request::default() }
    }

    fn score(&self, set: &RepositoryQueries, query: &FileQuery, paths: &[String]) -> f64 {
        let score = ndcg_of_files(paths.iter().map(String::as_str), &query.answers());
        if self.each {
            let first: Vec<_> = paths.iter().take(3).collect();
            progress(&format!("    {score:.3} {}|{} {first:?} of {:?}", set.name, query.query, query.answers()));
        }
        score
    }
}

async fn scores_of_semble(process: &mut semble::Process, set: &RepositoryQueries, root: &Path) -> Result<Scores> {
    process.index(root).await.with_context(|| format!("semble cannot index {}", root.display()))?;
    let mut scores = Scores::default();
    for query in &set.queries {
        let found = process.search(&query.query, MAX_RESULTS).await?;
        let paths: Vec<String> = found.paths.iter().map(|path| in_checkout(&set.root, path)).collect();
        scores.add(&query.category, ndcg_of_files(paths.iter().map(String::as_str), &query.answers()));
    }
    Ok(scores)
}

/// The path from the top of the checkout, as answers have it.
fn in_checkout(root: &str, path: &str) -> String {
    if root.is_empty() { path.to_owned() } else { format!("{root}/{path}") }
}
