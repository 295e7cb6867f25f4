//! Everything one run has found, in the shape that `--json` writes, and the tables people read.

use std::fmt::{self, Display, Write};

use serde::Serialize;

use crate::analysis::contenders::{BASELINE, COMPLEXIPY, GIT, LIZARD, MAINSTAY, RADON, SECOND_RUN};
use crate::bench_support::baseline::{Comparison, compare_times, comparison_table};
use crate::bench_support::program_run::RunSeries;
use crate::bench_support::report::{disturbance, ratio_row, target_table};
use crate::bench_support::sample::median;
use crate::bench_support::target::{Target, megabytes};

#[derive(Default, Serialize)]
pub(crate) struct Results {
    pub(crate) machine: String,
    pub(crate) rounds: usize,
    pub(crate) complexity: Vec<TreeRuns>,
    pub(crate) churn: Option<ChurnRuns>,
    pub(crate) comparisons: Vec<Comparison>,
    pub(crate) targets: Vec<Target>,
}

/// All programs on the source code of one language.
#[derive(Serialize)]
pub(crate) struct TreeRuns {
    pub(crate) language: &'static str,
    pub(crate) files: usize,
    pub(crate) runs: Vec<RunSeries>,
}

/// Mainstay and git on one history.
#[derive(Serialize)]
pub(crate) struct ChurnRuns {
    pub(crate) commits: u64,
    pub(crate) runs: Vec<RunSeries>,
}

impl Results {
    /// The processor time of the baseline over that of the current build. Empty without a baseline.
    pub(crate) fn compare_with_baseline(&self) -> Vec<Comparison> {
        let trees = self.complexity.iter().map(|tree| (format!("complexity, {}", tree.language), &tree.runs));
        let churn = self.churn.iter().map(|churn| ("churn".to_owned(), &churn.runs));
        let compared = trees.chain(churn).filter_map(|(what, runs)| {
            let find = |who: &str| runs.iter().find(|runs| runs.who == who);
            Some(compare_times(what, &find(MAINSTAY)?.processor_ms, &find(BASELINE)?.processor_ms))
        });
        compared.collect()
    }
}

impl Display for Results {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = "medians; ratios are medians of each round's own (least to most)";
        writeln!(out, "{}; {} rounds, {how}", self.machine, self.rounds)?;
        self.complexity.iter().try_for_each(|tree| tree.table(out))?;
        if let Some(churn) = &self.churn {
            churn.table(out)?;
        }
        let trees = self.complexity.iter().flat_map(|tree| &tree.runs);
        let all = trees.chain(self.churn.iter().flat_map(|churn| &churn.runs));
        disturbance(out, all.flat_map(|runs| runs.others_cores.iter().copied()))?;
        comparison_table(out, &self.comparisons)?;
        target_table(out, &self.targets)
    }
}

impl TreeRuns {
    fn table(&self, out: &mut impl Write) -> fmt::Result {
        let title = format!("complexity, {}, {} files", self.language, self.files);
        writeln!(out, "\n{title:<52}{:>12}{:>12}{:>12}{:>16}", "ms", "CPU ms", "peak MB", "files/CPU s")?;
        for runs in &self.runs {
            let files = f64::from(u32::try_from(self.files).unwrap_or(u32::MAX));
            row(out, runs)?;
            writeln!(out, "{:>16.0}", files / median(runs.processor_ms.clone()) * 1e3)?;
        }
        for peer in [LIZARD, RADON, COMPLEXIPY] {
            self.ratio(out, &format!("files per second of CPU, {MAINSTAY} / {peer}"), peer, MAINSTAY)?;
        }
        self.ratio(out, "files per second of CPU, second run / first", MAINSTAY, SECOND_RUN)
    }

    fn ratio(&self, out: &mut impl Write, what: &str, over: &str, under: &str) -> fmt::Result {
        RunSeries::processor_ratio(&self.runs, over, under).map_or(Ok(()), |ratio| ratio_row(out, what, ratio))
    }
}

impl ChurnRuns {
    fn table(&self, out: &mut impl Write) -> fmt::Result {
        let title = format!("churn, {} commits", self.commits);
        writeln!(out, "\n{title:<52}{:>12}{:>12}{:>12}", "ms", "CPU ms", "peak MB")?;
        for runs in &self.runs {
            row(out, runs)?;
            writeln!(out)?;
        }
        let ratio = RunSeries::processor_ratio(&self.runs, MAINSTAY, GIT);
        ratio.map_or(Ok(()), |ratio| ratio_row(out, &format!("CPU, {MAINSTAY} with its git / {GIT}"), ratio))
    }
}

fn row(out: &mut impl Write, runs: &RunSeries) -> fmt::Result {
    let RunSeries { who, rounds_ms, processor_ms, peak_bytes, .. } = runs;
    let (took, processor) = (median(rounds_ms.clone()), median(processor_ms.clone()));
    write!(out, "{who:<52}{took:>12.1}{processor:>12.1}{:>12.1}", megabytes(*peak_bytes))
}
