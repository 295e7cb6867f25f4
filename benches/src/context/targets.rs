//! The targets of the caches, compared with what this run has measured.

use crate::bench_support::baseline;
use crate::bench_support::cell::Cell;
use crate::bench_support::program_run::RunSeries;
use crate::bench_support::target::Target;
use crate::context::contenders::{CONTEXT_CLI, CONTEXT_SERVER, MAINSTAY};
use crate::context::results::Results;

const BUILD: f64 = 3.0;
const RESOLVE: f64 = 10.0;

pub(crate) fn judge(results: &Results) -> Vec<Target> {
    let documents = results.documents;
    let build = RunSeries::ratio(&results.builds, CONTEXT_CLI, MAINSTAY);
    let resolve = Cell::ratio(&results.resolves, MAINSTAY, CONTEXT_SERVER, 1);
    let mut targets = vec![
        Target::at_least(
            format!("builds per second, {documents} documents, / {CONTEXT_CLI}"),
            BUILD,
            build.map(|ratio| ratio.median),
        ),
        Target::at_least(
            format!("resolves per second, {documents} documents, / {CONTEXT_SERVER}"),
            RESOLVE,
            resolve.map(|ratio| ratio.median),
        ),
    ];
    targets.extend(baseline::target(&results.comparisons));
    targets
}

#[cfg(test)]
mod tests {
    use super::*;

    fn builds(theirs: &[f64], ours: &[f64]) -> Vec<RunSeries> {
        let of = |who, rounds_ms: &[f64]| RunSeries { rounds_ms: rounds_ms.to_vec(), ..RunSeries::new(who) };
        vec![of(CONTEXT_CLI, theirs), of(MAINSTAY, ours)]
    }

    #[test]
    fn what_was_left_out_of_a_run_is_not_judged() {
        let targets = judge(&Results::default());
        assert!(targets.iter().all(|target| target.measured.is_none() && target.reached.is_none()));
    }

    #[test]
    fn a_build_is_judged_by_how_many_times_as_long_the_peer_takes() {
        let judged = |builds| judge(&Results { builds, ..Results::default() })[0].reached;
        assert_eq!(judged(builds(&[30.0, 31.0], &[10.0, 10.0])), Some(true));
        assert_eq!(judged(builds(&[20.0, 29.0], &[10.0, 10.0])), Some(false));
    }
}
