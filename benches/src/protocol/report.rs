//! The tables people read.

use std::fmt::{self, Display, Write};

use crate::bench_support::baseline::comparison_table;
use crate::bench_support::cell::Cell;
use crate::bench_support::report::{
    disturbance, heading, memory_table, ratio_row, table_head, table_row, target_table,
};
use crate::bench_support::target::megabytes;
use crate::protocol::results::{
    BARE_AXUM, BARE_RMCP, BARE_RMCP_SESSION, EVERYTHING, EVERYTHING_STDIO, MAINSTAY, MAINSTAY_SESSION, MAINSTAY_STDIO,
    MAINSTAY_STDIO_NEW, Results,
};

impl Display for Results {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        heading(out, &self.machine, self.rounds, self.seconds_a_round)?;
        if !self.http.is_empty() {
            self.http_tables(out)?;
        }
        if !self.starts.is_empty() {
            self.stdio_tables(out)?;
        }
        self.memory(out)?;
        disturbance(out, self.http.iter().chain(&self.stdio).flat_map(Cell::others_cores))?;
        comparison_table(out, &self.comparisons)?;
        target_table(out, &self.targets)
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

    fn memory(&self, out: &mut impl Write) -> fmt::Result {
        memory_table(out, &self.memory)?;
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
}
