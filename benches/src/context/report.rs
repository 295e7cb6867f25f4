//! The tables people read.

use std::fmt::{self, Display, Write};

use crate::bench_support::baseline::comparison_table;
use crate::bench_support::cell::{Cell, MemoryRow};
use crate::bench_support::program_run::RunSeries;
use crate::bench_support::report::{
    disturbance, heading, memory_table, ratio_row, table_head, table_row, target_table,
};
use crate::bench_support::sample::median;
use crate::bench_support::target::megabytes;
use crate::context::contenders::{CONTEXT_CLI, CONTEXT_SERVER, MAINSTAY};
use crate::context::results::Results;

impl Display for Results {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        heading(out, &self.machine, self.rounds, self.seconds_a_round)?;
        self.runs(out, "build", &self.builds)?;
        self.runs(out, "resolve from the command line", &self.command_line)?;
        self.resolves(out)?;
        self.memory(out)?;
        self.growth(out)?;
        self.caches(out)?;
        let cells = self.resolves.iter().chain(self.growth.iter().map(|size| &size.later));
        // Not of the builds: what they write is written by the kernel, in nobody's name.
        let runs = self.command_line.iter().flat_map(|runs| runs.others_cores.iter().copied());
        disturbance(out, cells.flat_map(Cell::others_cores).chain(runs))?;
        comparison_table(out, &self.comparisons)?;
        target_table(out, &self.targets)
    }
}

impl Results {
    fn runs(&self, out: &mut impl Write, what: &str, all: &[RunSeries]) -> fmt::Result {
        if all.is_empty() {
            return Ok(());
        }
        let title = format!("{what}, {} documents", self.documents);
        writeln!(out, "\n{title:<52}{:>12}{:>12}{:>12}", "ms", "CPU ms", "peak MB")?;
        for RunSeries { who, rounds_ms, processor_ms, peak_bytes, .. } in all {
            let (took, processor) = (median(rounds_ms.clone()), median(processor_ms.clone()));
            writeln!(out, "{who:<52}{took:>12.1}{processor:>12.1}{:>12.1}", megabytes(*peak_bytes))?;
        }
        let Some(ratio) = RunSeries::ratio(all, CONTEXT_CLI, MAINSTAY) else { return Ok(()) };
        ratio_row(out, &format!("time, {CONTEXT_CLI} / {MAINSTAY}"), ratio)?;
        let peak = |who: &str| all.iter().find(|runs| runs.who == who).map(|runs| runs.peak_bytes);
        byte_ratio(out, &format!("peak RSS, {MAINSTAY} / {CONTEXT_CLI}"), peak(MAINSTAY), peak(CONTEXT_CLI))
    }

    fn resolves(&self, out: &mut impl Write) -> fmt::Result {
        if self.resolves.is_empty() {
            return Ok(());
        }
        table_head(out, &format!("resolve in a running server, {} documents", self.documents))?;
        self.resolves.iter().try_for_each(|cell| table_row(out, cell))?;
        match Cell::ratio(&self.resolves, MAINSTAY, CONTEXT_SERVER, 1) {
            Some(ratio) => ratio_row(out, &format!("{MAINSTAY} / {CONTEXT_SERVER}"), ratio),
            None => Ok(()),
        }
    }

    fn memory(&self, out: &mut impl Write) -> fmt::Result {
        if self.memory.is_empty() {
            return Ok(());
        }
        memory_table(out, &self.memory)?;
        for (when, figure) in [("idle", idle as fn(&_) -> u64), ("peak", peak)] {
            let of = |server: &str| self.memory.iter().find(|row| row.server == server).map(figure);
            byte_ratio(out, &format!("{when} RSS, {MAINSTAY} / {CONTEXT_SERVER}"), of(MAINSTAY), of(CONTEXT_SERVER))?;
        }
        Ok(())
    }

    fn growth(&self, out: &mut impl Write) -> fmt::Result {
        if self.growth.is_empty() {
            return Ok(());
        }
        let heads = ["documents", "first ms", "p50 µs", "p99 µs", "peak MB"];
        let [documents, first, p50, p99, peak] = heads;
        writeln!(
            out,
            "\n{:<40}{documents:>12}{first:>12}{p50:>14}{p99:>14}{peak:>12}  p50 / size before",
            "resolve as the cache grows"
        )?;
        for size in &self.growth {
            let Some(later) = &size.later.median else { continue };
            write!(
                out,
                "{:<40}{:>12}{:>12.1}{:>14.1}{:>14.1}{:>12.1}",
                size.later.server,
                size.documents,
                size.first_ms,
                later.p50_us,
                later.p99_us,
                megabytes(size.peak_bytes)
            )?;
            match size.step(&self.growth) {
                Some(step) => writeln!(out, "  {:.2} ({:.2} to {:.2})", step.median, step.least, step.most)?,
                None => writeln!(out)?,
            }
        }
        Ok(())
    }

    fn caches(&self, out: &mut impl Write) -> fmt::Result {
        if self.caches.is_empty() {
            return Ok(());
        }
        let heads = ["documents", "sources MB", "ms", "peak MB"];
        let [documents, sources, took, peak] = heads;
        writeln!(
            out,
            "\n{:<40}{documents:>12}{sources:>12}{took:>14}{peak:>14}",
            "the caches of this run, each built once"
        )?;
        let mut caches: Vec<_> = self.caches.iter().collect();
        caches.sort_by_key(|built| built.documents);
        for built in caches {
            let (sources, peak) = (megabytes(built.source_bytes), megabytes(built.peak_bytes));
            let (who, documents, took) = (built.who, built.documents, built.took_ms);
            writeln!(out, "{who:<40}{documents:>12}{sources:>12.1}{took:>14.1}{peak:>14.1}")?;
        }
        Ok(())
    }
}

fn idle(row: &MemoryRow) -> u64 {
    row.idle.rss_bytes
}

fn peak(row: &MemoryRow) -> u64 {
    row.after_load.peak_bytes
}

/// A ratio of what was read once.
fn byte_ratio(out: &mut impl Write, what: &str, over: Option<u64>, under: Option<u64>) -> fmt::Result {
    match (over, under) {
        (Some(over), Some(under)) => writeln!(out, "  {what:<50}{:>12.3}", megabytes(over) / megabytes(under)),
        (Some(_), None) | (None, Some(_) | None) => Ok(()),
    }
}
