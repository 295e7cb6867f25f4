//! The targets of search by meaning, compared with what this run has measured.

use crate::bench_support::baseline;
use crate::bench_support::sample::Ratio;
use crate::bench_support::target::Target;
use crate::search::mainstay::MAINSTAY;
use crate::search::quality::{QualityResults, SYMBOL};
use crate::search::results::Results;
use crate::search::semble::SEMBLE;
use crate::search::tokio_sources::TokioResults;

/// By file, the mean of the repositories; semble's ranking with the same model has .780.
const REPOSITORIES: f64 = 0.83;
/// What semble reports of its own model.
const SYMBOLS: f64 = 0.96;
/// The sets of functions by name.
const FUNCTIONS: [(&str, f64); 2] = [("docstring-bench", 0.71), ("docstring-bench-2", 0.70)];
/// What indexing, a query and a warm process may cost, as shares of the peer.
const INDEX_PROCESSOR: f64 = 0.2;
const QUERY: f64 = 1.0;
const MEMORY: f64 = 0.5;
/// Of a query in the generated workspace, whatever its size.
const SCALE_P99_MS: f64 = 60.0;

pub(crate) fn judge(results: &Results) -> Vec<Target> {
    let quality = results.quality.as_ref();
    let mut targets = vec![
        Target::at_least(
            "NDCG@10 by file, mean of the repositories".to_owned(),
            REPOSITORIES,
            quality.and_then(QualityResults::mean_of_repositories),
        ),
        Target::at_least(
            "NDCG@10 by file, queries that are a symbol".to_owned(),
            SYMBOLS,
            quality.and_then(|quality| quality.mean_of_kind(SYMBOL)),
        ),
    ];
    for (name, least) in FUNCTIONS {
        let set = quality.and_then(|quality| quality.functions.iter().find(|set| set.name == name));
        targets.push(Target::at_least(format!("NDCG@10, {name}"), least, set.and_then(|set| set.scores.mean())));
    }
    let tokio = results.tokio.as_ref();
    let index = tokio.and_then(TokioResults::processor_ratio);
    let query = tokio.and_then(TokioResults::query_ratio);
    let median = |ratio: Option<Ratio>| ratio.map(|ratio| ratio.median);
    for (what, most, ratio) in [
        ("CPU to index tokio", INDEX_PROCESSOR, median(index)),
        ("p50 of a query of tokio", QUERY, median(query)),
        ("memory of a warm process", MEMORY, tokio.and_then(TokioResults::memory_ratio)),
    ] {
        targets.push(Target::at_most(format!("{what}, {MAINSTAY} / {SEMBLE}"), most, ratio));
    }
    let scale = results.scale.as_ref().map(|scale| scale.queries.p99_ms);
    targets.push(Target::at_most("p99 of a query of the generated workspace, ms".to_owned(), SCALE_P99_MS, scale));
    targets.extend(baseline::target(&results.comparisons));
    targets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_left_out_of_a_run_is_not_judged() {
        let targets = judge(&Results::default());
        assert!(targets.len() == 8 && targets.iter().all(|target| target.reached.is_none()));
    }
}
