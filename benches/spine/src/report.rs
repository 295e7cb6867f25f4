//! The tables people read.

use std::fmt::{self, Display, Write};

use crate::results::{
    BARE_AXUM, BARE_RMCP, BARE_RMCP_SESSION, Cell, EVERYTHING, EVERYTHING_STDIO, MAINSTAY, MAINSTAY_SESSION,
    MAINSTAY_STDIO, MAINSTAY_STDIO_NEW, Results,
};
use crate::sample::{Ratio, Sample};
use crate::targets::megabytes;

/// Cores. Other work on the machine that takes more than this is worth a warning.
const DISTURBED: f64 = 0.1;

impl Display for Results {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            out,
            "{}; {} rounds of {} s, medians; ratios are medians of each round's own (least to most)",
            self.machine, self.rounds, self.seconds_a_round
        )?;
        if !self.http.is_empty() {
            self.http_tables(out)?;
        }
        if !self.starts.is_empty() {
            self.stdio_tables(out)?;
        }
        self.memory_table(out)?;
        self.disturbance(out)?;
        self.target_table(out)
    }
}

impl Results {
    fn http_tables(&self, out: &mut impl Write) -> fmt::Result {
        for connections in [1, 32] {
            let plural = if connections == 1 { "" } else { "s" };
            table_head(out, &format!("/mcp, {connections} connection{plural}"))?;
            for cell in &self.http {
                if cell.at_once == connections {
                    table_row(out, cell)?;
                }
            }
            let pairs = [
                (MAINSTAY, BARE_RMCP),
                (MAINSTAY, EVERYTHING),
                (MAINSTAY_SESSION, MAINSTAY),
                (MAINSTAY_SESSION, BARE_RMCP_SESSION),
                (MAINSTAY_SESSION, EVERYTHING),
                (MAINSTAY, BARE_AXUM),
                (BARE_RMCP, EVERYTHING),
                (BARE_RMCP_SESSION, BARE_RMCP),
                (BARE_RMCP, BARE_AXUM),
            ];
            for (over, under) in pairs {
                if let Some(ratio) = Cell::ratio(&self.http, over, under, connections) {
                    ratio_row(out, &format!("{over} / {under}"), ratio)?;
                }
            }
        }
        Ok(())
    }

    fn stdio_tables(&self, out: &mut impl Write) -> fmt::Result {
        for in_flight in [1, 128] {
            table_head(out, &format!("stdio, {in_flight} in flight"))?;
            for cell in &self.stdio {
                if cell.at_once == in_flight {
                    table_row(out, cell)?;
                }
            }
            if let Some(ratio) = Cell::ratio(&self.stdio, MAINSTAY_STDIO, EVERYTHING_STDIO, in_flight) {
                ratio_row(out, &format!("{MAINSTAY_STDIO} / {EVERYTHING_STDIO}"), ratio)?;
            }
        }
        writeln!(out, "\n{:<52}{:>12}", "start to first answer", "ms")?;
        for row in &self.starts {
            writeln!(out, "{:<52}{:>12.1}", row.server, row.median_ms)?;
        }
        for server in [MAINSTAY_STDIO, MAINSTAY_STDIO_NEW] {
            if let Some(ratio) = self.start_ratio(server) {
                ratio_row(out, &format!("{server} / server-everything"), ratio)?;
            }
        }
        Ok(())
    }

    fn memory_table(&self, out: &mut impl Write) -> fmt::Result {
        writeln!(
            out,
            "\n{:<52}{:>12}{:>12}{:>16}{:>12}",
            "memory, MB", "idle RSS", "idle PSS", "loaded RSS", "loaded PSS"
        )?;
        for row in &self.memory {
            writeln!(
                out,
                "{:<52}{:>12.1}{:>12.1}{:>16.1}{:>12.1}",
                row.server,
                megabytes(row.idle.rss_bytes),
                megabytes(row.idle.pss_bytes),
                megabytes(row.after_load.rss_bytes),
                megabytes(row.after_load.pss_bytes),
            )?;
        }
        let pairs = [("mainstay serve", "server-everything"), (MAINSTAY_STDIO, EVERYTHING_STDIO)];
        for (over, under) in pairs {
            if let (Some(a), Some(b)) = (self.idle_memory(over), self.idle_memory(under)) {
                let ratio = megabytes(a.rss_bytes) / megabytes(b.rss_bytes);
                let name = format!("{over} / {under}");
                writeln!(out, "  {name:<50}{ratio:>12.3}")?;
            }
        }
        Ok(())
    }

    fn disturbance(&self, out: &mut impl Write) -> fmt::Result {
        let rounds = || self.http.iter().chain(&self.stdio).flat_map(|cell| &cell.rounds);
        let disturbed = rounds().filter(|sample| sample.others_cores > DISTURBED).count();
        if disturbed > 0 {
            let worst = rounds().map(|sample| sample.others_cores).fold(0.0, f64::max);
            let all = rounds().count();
            writeln!(
                out,
                "\nNot a quiet machine: other work disturbed {disturbed} of {all} measurements, with up to {worst:.2} cores."
            )?;
        }
        Ok(())
    }

    fn target_table(&self, out: &mut impl Write) -> fmt::Result {
        writeln!(out, "\n{:<76}{:>9}{:>10}  ", "target", "wanted", "measured")?;
        for target in &self.targets {
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
}

fn table_head(out: &mut impl Write, title: &str) -> fmt::Result {
    writeln!(out, "\n{title:<52}{:>12}{:>12}{:>12}{:>16}", "calls/s", "p50 µs", "p99 µs", "server CPU µs")
}

fn table_row(out: &mut impl Write, cell: &Cell) -> fmt::Result {
    let Cell { server, median: Some(Sample { calls_per_second, p50_us, p99_us, server_cpu_us, .. }), .. } = cell else {
        return Ok(());
    };
    writeln!(out, "{server:<52}{calls_per_second:>12.0}{p50_us:>12.1}{p99_us:>12.1}{server_cpu_us:>16.1}")
}

fn ratio_row(out: &mut impl Write, name: &str, ratio: Ratio) -> fmt::Result {
    let Ratio { median, least, most } = ratio;
    writeln!(out, "  {name:<50}{median:>12.3}  ({least:.3} to {most:.3})")
}
