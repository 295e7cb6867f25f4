//! The current build of Mainstay compared with another one that took turns with it in the same rounds.

use std::fmt::{self, Write};

use serde::Serialize;

use crate::bench_support::cell::Cell;
use crate::bench_support::report::ratio_row;
use crate::bench_support::sample::Ratio;
use crate::bench_support::target::Target;

/// How fast the current build may be, of the baseline, and still count as equally fast on a noisy machine.
const WANTED: f64 = 0.95;

/// How fast the current build is in one cell, as a multiple of the baseline: above 1 it is faster.
#[derive(Serialize)]
pub(crate) struct Comparison {
    pub(crate) what: String,
    pub(crate) speed: Ratio,
}

/// Compares the calls per second of two servers, for every number of calls at once that both were measured with.
pub(crate) fn compare_rates(what: &str, cells: &[Cell], current: &str, baseline: &str) -> Vec<Comparison> {
    let ours = cells.iter().filter(|cell| cell.server == current);
    ours.filter_map(|cell| {
        let speed = Cell::ratio(cells, current, baseline, cell.at_once)?;
        Some(Comparison { what: format!("{what}, {current}, {} at once", cell.at_once), speed })
    })
    .collect()
}

/// Compares durations, round by round: the speed is the baseline's time over the current build's.
pub(crate) fn compare_times(what: String, current_ms: &[f64], baseline_ms: &[f64]) -> Comparison {
    Comparison { what, speed: Ratio::of_pairs(baseline_ms, current_ms) }
}

/// Prints every comparison. Nothing, if the run had no baseline.
pub(crate) fn comparison_table(out: &mut impl Write, comparisons: &[Comparison]) -> fmt::Result {
    if comparisons.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{:<52}{:>12}  (least to most)", "speed, current build / baseline", "median")?;
    comparisons.iter().try_for_each(|comparison| ratio_row(out, &comparison.what, comparison.speed))
}

/// The target that no cell has become slower, if the run had a baseline.
pub(crate) fn target(comparisons: &[Comparison]) -> Option<Target> {
    let slowest = comparisons.iter().map(|comparison| comparison.speed.median).min_by(f64::total_cmp)?;
    Some(Target::at_least("lowest speed of a cell, current build / baseline".to_owned(), WANTED, Some(slowest)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_the_time_is_twice_the_speed() {
        let faster = compare_times("a start".to_owned(), &[10.0, 20.0], &[20.0, 40.0]);
        assert_eq!(faster.speed, Ratio { median: 2.0, least: 2.0, most: 2.0 });
    }

    #[test]
    fn one_slower_cell_misses_the_target_and_no_baseline_is_no_target() {
        let comparisons = [("a", 1.2), ("b", 0.9)].map(|(what, speed)| compare_times(what.into(), &[1.0], &[speed]));
        assert_eq!(target(&comparisons).and_then(|target| target.reached), Some(false));
        assert_eq!(target(&comparisons[..1]).and_then(|target| target.reached), Some(true));
        assert!(target(&[]).is_none());
    }
}
