//! Everything one run has found, in the shape that `--json` writes.

use serde::Serialize;

use crate::bench_support::baseline::{Comparison, compare_rates, compare_times};
use crate::bench_support::cell::{Cell, MemoryRow};
use crate::bench_support::target::Target;
use crate::workspace::calls::Reads;
use crate::workspace::contenders::BASELINES;
use crate::workspace::files::Counts;
use crate::workspace::growth::Size;
use crate::workspace::timing::Timing;

#[derive(Default, Serialize)]
pub(crate) struct Results {
    pub(crate) machine: String,
    pub(crate) rounds: usize,
    pub(crate) seconds_a_round: f64,
    pub(crate) files: Counts,
    pub(crate) reads: Vec<Reads>,
    pub(crate) edits: Vec<Cell>,
    pub(crate) tree: Vec<Timing>,
    pub(crate) searches: Vec<Timing>,
    pub(crate) commands: Vec<Cell>,
    /// What the sandbox's own benchmark says, with no server around it.
    pub(crate) bare_sandbox: Option<String>,
    /// Commands in workspaces of several sizes.
    pub(crate) growth: Vec<Size>,
    pub(crate) memory: Vec<MemoryRow>,
    pub(crate) comparisons: Vec<Comparison>,
    pub(crate) targets: Vec<Target>,
}

impl Results {
    /// Every cell and every timing of the current build over the baseline's. Empty without a baseline.
    pub(crate) fn compare_with_baseline(&self) -> Vec<Comparison> {
        let mut all = Vec::new();
        for (current, baseline) in BASELINES {
            for reads in &self.reads {
                all.extend(compare_rates(&format!("read {} bytes", reads.bytes), &reads.cells, current, baseline));
            }
            all.extend(compare_rates("edit", &self.edits, current, baseline));
            all.extend(compare_rates("command", &self.commands, current, baseline));
            for ours in self.growth.iter().filter(|size| size.later.server == current) {
                let same = |size: &&Size| size.later.server == baseline && size.directories == ours.directories;
                if let Some(theirs) = self.growth.iter().find(same) {
                    let what = format!("command, {} directories", ours.directories);
                    all.push(compare_times(what, &ours.p50s(), &theirs.p50s()));
                }
            }
            let timings = || self.tree.iter().chain(&self.searches);
            for ours in timings().filter(|timing| timing.who == current) {
                if let Some(theirs) = timings().find(|timing| timing.who == baseline && timing.what == ours.what) {
                    all.push(compare_times(ours.what.clone(), &ours.rounds_ms, &theirs.rounds_ms));
                }
            }
        }
        all
    }
}
