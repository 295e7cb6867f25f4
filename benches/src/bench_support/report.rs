//! The parts of the tables people read.

use std::fmt::{self, Write};

use crate::bench_support::cell::{Cell, MemoryRow};
use crate::bench_support::sample::{Ratio, Sample};
use crate::bench_support::target::{Target, megabytes};

/// Cores. Other work on the machine that takes more than this is worth a warning.
const DISTURBED: f64 = 0.1;

pub(crate) fn heading(out: &mut impl Write, machine: &str, rounds: usize, seconds_a_round: f64) -> fmt::Result {
    let how = "medians; ratios are medians of each round's own (least to most)";
    writeln!(out, "{machine}; {rounds} rounds of {seconds_a_round} s, {how}")
}

pub(crate) fn table_head(out: &mut impl Write, title: &str) -> fmt::Result {
    writeln!(out, "\n{title:<52}{:>12}{:>12}{:>12}{:>16}", "calls/s", "p50 µs", "p99 µs", "server CPU µs")
}

pub(crate) fn table_row(out: &mut impl Write, cell: &Cell) -> fmt::Result {
    let Cell { server, median: Some(Sample { calls_per_second, p50_us, p99_us, server_cpu_us, .. }), .. } = cell else {
        return Ok(());
    };
    // A server that needs seconds for a call would else have a rate of 0.
    let decimals = if *calls_per_second < 10.0 { 3 } else { 0 };
    writeln!(out, "{server:<52}{calls_per_second:>12.decimals$}{p50_us:>12.1}{p99_us:>12.1}{server_cpu_us:>16.1}")
}

pub(crate) fn ratio_row(out: &mut impl Write, name: &str, ratio: Ratio) -> fmt::Result {
    let Ratio { median, least, most } = ratio;
    writeln!(out, "  {name:<50}{median:>12.3}  ({least:.3} to {most:.3})")
}

pub(crate) fn memory_table(out: &mut impl Write, rows: &[MemoryRow]) -> fmt::Result {
    writeln!(
        out,
        "\n{:<52}{:>12}{:>12}{:>16}{:>12}{:>12}",
        "memory, MB", "idle RSS", "idle PSS", "loaded RSS", "loaded PSS", "peak RSS"
    )?;
    for row in rows {
        writeln!(
            out,
            "{:<52}{:>12.1}{:>12.1}{:>16.1}{:>12.1}{:>12.1}",
            row.server,
            megabytes(row.idle.rss_bytes),
            megabytes(row.idle.pss_bytes),
            megabytes(row.after_load.rss_bytes),
            megabytes(row.after_load.pss_bytes),
            megabytes(row.after_load.peak_bytes),
        )?;
    }
    Ok(())
}

/// A warning, if other work took part of the machine; `others_cores` is of every measurement.
pub(crate) fn disturbance(out: &mut impl Write, others_cores: impl Iterator<Item = f64>) -> fmt::Result {
    let others: Vec<f64> = others_cores.collect();
    let disturbed = others.iter().filter(|cores| **cores > DISTURBED).count();
    if disturbed > 0 {
        let worst = others.iter().copied().fold(0.0, f64::max);
        let all = others.len();
        writeln!(
            out,
            "\nNot a quiet machine: other work disturbed {disturbed} of {all} measurements, with up to {worst:.2} cores."
        )?;
    }
    Ok(())
}

pub(crate) fn target_table(out: &mut impl Write, targets: &[Target]) -> fmt::Result {
    writeln!(out, "\n{:<76}{:>9}{:>10}  ", "target", "wanted", "measured")?;
    for target in targets {
        let measured = target.measured.map_or("–".to_owned(), |measured| format!("{measured:.3}"));
        let verdict = match target.reached {
            Some(true) => "reached",
            Some(false) => "not reached",
            None => "not measured",
        };
        writeln!(out, "{:<76}{:>9}{measured:>10}  {verdict}", target.what, target.wanted)?;
    }
    Ok(())
}
