//! The tables people read.

use std::fmt::{self, Display};

use crate::bench_support::baseline::comparison_table;
use crate::bench_support::cell::Cell;
use crate::bench_support::report::{disturbance, heading, ratio_row, table_head, table_row, target_table};
use crate::solana::results::{NODE, Results};

impl Display for Results {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        heading(out, &self.machine, self.rounds, self.seconds_a_round)?;
        for part in &self.parts {
            let connections = if part.at_once() == 1 { "connection" } else { "connections" };
            table_head(out, &format!("{}, {} {connections}", part.name(), part.at_once()))?;
            part.cells.iter().try_for_each(|cell| table_row(out, cell))?;
            if let Some(ratio) = part.rate_ratio() {
                ratio_row(out, "calls per second, mainstay / node", ratio)?;
            }
            if let Some([p50, p99]) = part.latency_ratios() {
                ratio_row(out, "p50, mainstay / node", p50)?;
                ratio_row(out, "p99, mainstay / node", p99)?;
            }
        }
        // While Mainstay is measured, the node works for it: that is no other work.
        let node = self.parts.iter().flat_map(|part| &part.cells).filter(|cell| cell.server == NODE);
        disturbance(out, node.flat_map(Cell::others_cores))?;
        comparison_table(out, &self.comparisons)?;
        target_table(out, &self.targets)
    }
}
