//! The tables people read.

use std::fmt::{self, Display, Write};

use crate::bench_support::baseline::comparison_table;
use crate::bench_support::cell::Cell;
use crate::bench_support::report::{
    disturbance, heading, memory_table, ratio_row, table_head, table_row, target_table,
};
use crate::workspace::calls::IN_FLIGHT;
use crate::workspace::contenders::{FILESYSTEM, MAINSTAY, MAINSTAY_MEMORY, MAINSTAY_SMALL, MAINSTAY_TMPFS};
use crate::workspace::results::Results;
use crate::workspace::rounds::PLAIN_SPAWN;
use crate::workspace::search::{self, RIPGREP};
use crate::workspace::targets::{idle, memory_ratio, peak};
use crate::workspace::timing::Timing;
use crate::workspace::tree::WHOLE;

impl Display for Results {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        heading(out, &self.machine, self.rounds, self.seconds_a_round)?;
        self.reads(out)?;
        self.edits(out)?;
        self.trees(out)?;
        self.searches(out)?;
        self.commands(out)?;
        self.growth(out)?;
        self.memory(out)?;
        let reads = self.reads.iter().flat_map(|reads| &reads.cells);
        disturbance(out, reads.chain(&self.edits).flat_map(Cell::others_cores))?;
        comparison_table(out, &self.comparisons)?;
        target_table(out, &self.targets)
    }
}

impl Results {
    fn reads(&self, out: &mut impl Write) -> fmt::Result {
        for reads in &self.reads {
            for in_flight in IN_FLIGHT {
                table_head(out, &format!("read {} bytes over stdio, {in_flight} in flight", reads.bytes))?;
                for cell in reads.cells.iter().filter(|cell| cell.at_once == in_flight) {
                    table_row(out, cell)?;
                }
                rate_ratio(out, &reads.cells, MAINSTAY, FILESYSTEM, in_flight)?;
            }
        }
        Ok(())
    }

    fn edits(&self, out: &mut impl Write) -> fmt::Result {
        if self.edits.is_empty() {
            return Ok(());
        }
        table_head(out, "one replacement in a file of 20 KiB")?;
        self.edits.iter().try_for_each(|cell| table_row(out, cell))?;
        for over in [MAINSTAY, MAINSTAY_TMPFS, MAINSTAY_MEMORY] {
            rate_ratio(out, &self.edits, over, FILESYSTEM, 1)?;
        }
        writeln!(out, "  mainstay's edits and their audit are on disk before the reply; {FILESYSTEM}'s need not be")
    }

    fn trees(&self, out: &mut impl Write) -> fmt::Result {
        if self.tree.is_empty() {
            return Ok(());
        }
        let title = format!("tree of {} files, {} without the ignored", self.files.files, self.files.not_ignored);
        timing_table(out, &title, "files", &self.tree)?;
        time_ratio(out, &self.tree, WHOLE, MAINSTAY, FILESYSTEM)
    }

    fn searches(&self, out: &mut impl Write) -> fmt::Result {
        if self.searches.is_empty() {
            return Ok(());
        }
        timing_table(out, "search", "lines", &self.searches)?;
        for (what, ..) in search::names() {
            time_ratio(out, &self.searches, &what, MAINSTAY, RIPGREP)?;
        }
        Ok(())
    }

    fn commands(&self, out: &mut impl Write) -> fmt::Result {
        if self.commands.is_empty() {
            return Ok(());
        }
        table_head(out, "the command `true`")?;
        self.commands.iter().try_for_each(|cell| table_row(out, cell))?;
        // How many times as long a call takes: the inverse of how many fit into a second.
        for under in [MAINSTAY_SMALL, MAINSTAY_MEMORY, MAINSTAY] {
            if let Some(ratio) = Cell::ratio(&self.commands, PLAIN_SPAWN, under, 1) {
                ratio_row(out, &format!("time, {under} / {PLAIN_SPAWN}"), ratio)?;
            }
        }
        if let Some(said) = &self.bare_sandbox {
            writeln!(out, "  the sandbox alone, without a server:")?;
            said.lines().try_for_each(|line| writeln!(out, "    {line}"))?;
        }
        Ok(())
    }

    fn growth(&self, out: &mut impl Write) -> fmt::Result {
        if self.growth.is_empty() {
            return Ok(());
        }
        let title = "the command `true`, by directories in the workspace";
        writeln!(out, "\n{title:<52}{:>12}{:>12}{:>12}{:>16}", "first ms", "p50 ms", "p99 ms", "/ none")?;
        for size in &self.growth {
            let Some(median) = &size.later.median else { continue };
            let name = format!("{}, {} directories", size.later.server, size.directories);
            let growth = size.growth(&self.growth).map_or(1.0, |ratio| ratio.median);
            let (p50, p99) = (median.p50_us / 1e3, median.p99_us / 1e3);
            writeln!(out, "{name:<52}{:>12.1}{p50:>12.2}{p99:>12.2}{growth:>16.3}", size.first_ms)?;
        }
        Ok(())
    }

    fn memory(&self, out: &mut impl Write) -> fmt::Result {
        memory_table(out, &self.memory)?;
        for (when, figure) in [("idle", idle as fn(&_) -> u64), ("peak", peak)] {
            if let Some(ratio) = memory_ratio(self, figure) {
                writeln!(out, "  {:<50}{ratio:>12.3}", format!("{when} RSS, {MAINSTAY} / {FILESYSTEM}"))?;
            }
        }
        Ok(())
    }
}

fn rate_ratio(out: &mut impl Write, cells: &[Cell], over: &str, under: &str, at_once: usize) -> fmt::Result {
    match Cell::ratio(cells, over, under, at_once) {
        Some(ratio) => ratio_row(out, &format!("{over} / {under}"), ratio),
        None => Ok(()),
    }
}

fn time_ratio(out: &mut impl Write, timings: &[Timing], what: &str, over: &str, under: &str) -> fmt::Result {
    match Timing::ratio(timings, what, over, under) {
        Some(ratio) => ratio_row(out, &format!("{what}: {over} / {under}"), ratio),
        None => Ok(()),
    }
}

fn timing_table(out: &mut impl Write, title: &str, found: &str, timings: &[Timing]) -> fmt::Result {
    writeln!(out, "\n{title:<52}{:>24}{:>12}{found:>12}", "", "ms")?;
    for timing in timings {
        writeln!(out, "{:<52}{:>24}{:>12.1}{:>12}", timing.what, timing.who, timing.median_ms(), timing.found)?;
    }
    Ok(())
}
