//! The targets of the workspace's tools, compared with what this run has measured.

use crate::bench_support::baseline;
use crate::bench_support::cell::{Cell, MemoryRow};
use crate::bench_support::target::{Target, megabytes};
use crate::workspace::calls::IN_FLIGHT;
use crate::workspace::contenders::{FILESYSTEM, MAINSTAY, MAINSTAY_SMALL};
use crate::workspace::growth::Size;
use crate::workspace::results::Results;
use crate::workspace::rounds::PLAIN_SPAWN;
use crate::workspace::search::{self, RIPGREP};
use crate::workspace::timing::Timing;

const READS: f64 = 5.0;
const SEARCHES: f64 = 1.3;
const MEMORY: f64 = 1.0 / 3.0;
const COMMANDS: f64 = 4.0;
const GROWTH: f64 = 1.5;

pub(crate) fn judge(results: &Results) -> Vec<Target> {
    let mut targets = Vec::new();
    for reads in &results.reads {
        for in_flight in IN_FLIGHT {
            let ratio = Cell::ratio(&reads.cells, MAINSTAY, FILESYSTEM, in_flight);
            targets.push(Target::at_least(
                format!("reads per second of {} bytes, {in_flight} in flight, / {FILESYSTEM}", reads.bytes),
                READS,
                ratio.map(|ratio| ratio.median),
            ));
        }
    }
    for (what, ..) in search::names() {
        let ratio = Timing::ratio(&results.searches, &what, MAINSTAY, RIPGREP);
        let what = format!("time of a search, {what}, / {RIPGREP}");
        targets.push(Target::at_most(what, SEARCHES, ratio.map(|ratio| ratio.median)));
    }
    for (when, figure) in [("idle", idle as fn(&MemoryRow) -> u64), ("at its peak", peak)] {
        let what = format!("memory (RSS) {when}, / {FILESYSTEM}");
        let mut target = Target::at_most(what, MEMORY, memory_ratio(results, figure));
        "≤ 1/3".clone_into(&mut target.wanted);
        targets.push(target);
    }
    let ratio = Cell::ratio(&results.commands, PLAIN_SPAWN, MAINSTAY_SMALL, 1);
    let what = format!("time of a sandboxed `true`, called through a server with its audit, / {PLAIN_SPAWN}");
    targets.push(Target::at_most(what, COMMANDS, ratio.map(|ratio| ratio.median)));
    let what = format!("time of a sandboxed `true`, the sandbox alone, / {PLAIN_SPAWN}");
    targets.push(Target::at_most(what, COMMANDS, results.bare_sandbox.as_deref().and_then(stated_ratio)));
    let what = "time of a `true` in the largest workspace / in an empty one".to_owned();
    targets.push(Target::at_most(what, GROWTH, Size::largest_growth(&results.growth).map(|ratio| ratio.median)));
    targets.extend(baseline::target(&results.comparisons));
    targets
}

/// The figure behind the word `ratio`.
fn stated_ratio(said: &str) -> Option<f64> {
    said.split_whitespace().skip_while(|word| *word != "ratio").nth(1)?.parse().ok()
}

pub(crate) fn idle(row: &MemoryRow) -> u64 {
    row.idle.rss_bytes
}

pub(crate) fn peak(row: &MemoryRow) -> u64 {
    row.after_load.peak_bytes
}

/// Ours over server-filesystem's.
pub(crate) fn memory_ratio(results: &Results, figure: fn(&MemoryRow) -> u64) -> Option<f64> {
    let of = |server: &str| results.memory.iter().find(|row| row.server == server).map(figure).map(megabytes);
    Some(of(MAINSTAY)? / of(FILESYSTEM)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timing(who: &'static str, rounds_ms: &[f64]) -> Timing {
        let mut timing = Timing::new("regex, small files", who);
        timing.rounds_ms.extend(rounds_ms);
        timing
    }

    #[test]
    fn what_was_left_out_of_a_run_is_not_judged() {
        let targets = judge(&Results::default());
        assert!(targets.iter().all(|target| target.measured.is_none() && target.reached.is_none()));
    }

    #[test]
    fn the_sandboxs_own_figure_is_found_in_what_it_says() {
        assert_eq!(stated_ratio("sandboxed 2.1ms  plain 0.7ms  ratio 2.95  (namespaces)\n"), Some(2.95));
        assert_eq!(stated_ratio("nothing"), None);
    }

    #[test]
    fn a_search_slower_than_promised_does_not_reach_its_target() {
        let searches = vec![timing(MAINSTAY, &[14.0, 15.0]), timing(RIPGREP, &[10.0, 10.0])];
        let results = Results { searches, ..Results::default() };
        let judged: Vec<_> = judge(&results).into_iter().filter_map(|target| target.reached).collect();
        assert_eq!(judged, [false]);
    }
}
