//! Everything one run has found, in the shape that `--json` writes.

use serde::Serialize;

use crate::bench_support::baseline::{Comparison, compare_rates, compare_times};
use crate::bench_support::cell::{Cell, MemoryRow};
use crate::bench_support::program_run::RunSeries;
use crate::bench_support::sample::Ratio;
use crate::bench_support::target::Target;
use crate::context::caches::Built;
use crate::context::contenders::{BASELINE, MAINSTAY};
use crate::context::growth::Size;

#[derive(Default, Serialize)]
pub(crate) struct Results {
    pub(crate) machine: String,
    pub(crate) rounds: usize,
    pub(crate) seconds_a_round: f64,
    pub(crate) documents: usize,
    pub(crate) builds: Vec<RunSeries>,
    pub(crate) resolves: Vec<Cell>,
    pub(crate) memory: Vec<MemoryRow>,
    pub(crate) command_line: Vec<RunSeries>,
    pub(crate) growth: Vec<Size>,
    /// The caches that were resolved from, each built once.
    pub(crate) caches: Vec<Built>,
    pub(crate) comparisons: Vec<Comparison>,
    pub(crate) targets: Vec<Target>,
}

impl Results {
    /// Every figure of the current build over the baseline's. Empty without a baseline.
    pub(crate) fn compare_with_baseline(&self) -> Vec<Comparison> {
        let mut all = Vec::new();
        for (what, runs) in [("build", &self.builds), ("resolve from the command line", &self.command_line)] {
            let find = |who: &str| runs.iter().find(|runs| runs.who == who);
            if let (Some(ours), Some(theirs)) = (find(MAINSTAY), find(BASELINE)) {
                all.push(compare_times(what.to_owned(), &ours.rounds_ms, &theirs.rounds_ms));
            }
        }
        all.extend(compare_rates("resolve", &self.resolves, MAINSTAY, BASELINE));
        for ours in self.growth.iter().filter(|size| size.later.server == MAINSTAY) {
            let of_baseline = |size: &&Size| size.later.server == BASELINE && size.documents == ours.documents;
            if let Some(theirs) = self.growth.iter().find(of_baseline) {
                let what = format!("resolve, {} documents", ours.documents);
                let speed = Ratio::of_rates(&ours.later.rounds, &theirs.later.rounds);
                all.push(Comparison { what, speed });
            }
        }
        all
    }
}
