//! The targets of code analysis, compared with what this run has measured.

use crate::analysis::contenders::{COMPLEXIPY, GIT, LIZARD, MAINSTAY, SECOND_RUN};
use crate::analysis::results::Results;
use crate::bench_support::baseline;
use crate::bench_support::program_run::RunSeries;
use crate::bench_support::target::Target;

const OVER_LIZARD: f64 = 15.0;
const OVER_COMPLEXIPY: f64 = 1.0;
const SECOND_OVER_FIRST: f64 = 10.0;
const CHURN_OVER_GIT: f64 = 1.0;

pub(crate) fn judge(results: &Results) -> Vec<Target> {
    let mut targets = Vec::new();
    for language in ["python", "rust"] {
        let runs = results.complexity.iter().find(|tree| tree.language == language).map(|tree| &tree.runs[..]);
        let ratio = |over, under| Some(RunSeries::processor_ratio(runs?, over, under)?.median);
        let mut wanted = |what: String, least, measured| targets.push(Target::at_least(what, least, measured));
        let files = format!("files per second of CPU, {language}");
        wanted(format!("{files}, / {LIZARD}"), OVER_LIZARD, ratio(LIZARD, MAINSTAY));
        if language == "python" {
            wanted(format!("{files}, / {COMPLEXIPY}"), OVER_COMPLEXIPY, ratio(COMPLEXIPY, MAINSTAY));
        }
        wanted(format!("{files}, second run / first"), SECOND_OVER_FIRST, ratio(MAINSTAY, SECOND_RUN));
    }
    let churn = results.churn.as_ref().and_then(|churn| RunSeries::processor_ratio(&churn.runs, MAINSTAY, GIT));
    let what = format!("CPU of churn with its git / {GIT}");
    targets.push(Target::at_most(what, CHURN_OVER_GIT, churn.map(|ratio| ratio.median)));
    targets.extend(baseline::target(&results.comparisons));
    targets
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::results::{ChurnRuns, TreeRuns};

    fn runs(figures: &[(&'static str, f64)]) -> Vec<RunSeries> {
        let of = |(who, ms): &(&'static str, f64)| RunSeries { processor_ms: vec![*ms], ..RunSeries::new(who) };
        figures.iter().map(of).collect()
    }

    #[test]
    fn what_was_left_out_of_a_run_is_not_judged() {
        let targets = judge(&Results::default());
        assert!(targets.len() == 6 && targets.iter().all(|target| target.reached.is_none()));
    }

    #[test]
    fn less_processor_time_is_more_files_per_second() {
        let python = runs(&[(MAINSTAY, 100.0), (LIZARD, 1600.0), (COMPLEXIPY, 90.0), (SECOND_RUN, 8.0)]);
        let churn = Some(ChurnRuns { commits: 1, runs: runs(&[(MAINSTAY, 90.0), (GIT, 100.0)]) });
        let complexity = vec![TreeRuns { language: "python", files: 10, runs: python }];
        let targets = judge(&Results { complexity, churn, ..Results::default() });
        let reached: Vec<_> = targets.iter().map(|target| target.reached).collect();
        assert_eq!(reached, [Some(true), Some(false), Some(true), None, None, Some(true)]);
    }
}
