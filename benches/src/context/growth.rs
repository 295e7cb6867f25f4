//! How a query's cost grows with the documents: one server for each size, in turns.

use anyhow::Result;
use serde::Serialize;

use crate::bench_support::cell::Cell;
use crate::bench_support::process_cost::Memory;
use crate::bench_support::sample::Ratio;
use crate::bench_support::stdio::{Load, StdioServer};
use crate::bench_support::{progress, turns};
use crate::context::Settings;
use crate::context::caches::Caches;
use crate::context::contenders::{Contender, Contenders};
use crate::context::queries::load_over;

const SMALLEST: usize = 100;
/// More would take the peer minutes for a call.
const MOST_FOR_THE_PEER: usize = 10_000;

#[derive(Serialize)]
pub(crate) struct Size {
    pub(crate) documents: usize,
    /// The server's first call, in which it reads the cache.
    pub(crate) first_ms: f64,
    pub(crate) peak_bytes: u64,
    pub(crate) later: Cell,
}

struct Contestant {
    server: StdioServer,
    load: Load,
    size: Size,
}

pub(crate) async fn run(contenders: &Contenders, caches: &mut Caches, settings: &Settings) -> Result<Vec<Size>> {
    let mut servers = Vec::new();
    for contender in &contenders.all {
        let most = match contender {
            Contender::Peer => settings.largest.min(MOST_FOR_THE_PEER),
            Contender::Mainstay(_) => settings.largest,
        };
        for documents in sizes(most) {
            servers.push(start(contenders, *contender, caches, documents).await?);
        }
    }
    for round in 0..settings.rounds {
        progress(&format!("growth, round {} of {}", round + 1, settings.rounds));
        for at in turns(round, servers.len()) {
            let Contestant { server, load, size } = &mut servers[at];
            size.later.push(server.measure_whole_calls(load, settings.length).await?);
        }
    }
    let mut grown = Vec::new();
    for Contestant { server, mut size, .. } in servers {
        size.peak_bytes = Memory::peak(server.server.pid)?;
        grown.push(size);
    }
    Ok(grown)
}

fn sizes(most: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(SMALLEST), |size| size.checked_mul(10)).take_while(move |size| *size <= most)
}

async fn start(
    contenders: &Contenders,
    contender: Contender,
    caches: &mut Caches,
    documents: usize,
) -> Result<Contestant> {
    let cache = caches.cache(contenders, documents).await?;
    let mut server = contenders.serve(contender, &caches.root, &format!("growth-{documents}")).await?;
    let mut load = load_over(&cache, documents);
    let first = server.time_one(&mut load).await?;
    let size =
        Size { documents, first_ms: first.as_secs_f64() * 1e3, peak_bytes: 0, later: Cell::new(contender.server(), 1) };
    Ok(Contestant { server, load, size })
}

impl Size {
    /// How many times as long a call takes as with the documents of the size before; `None` for the smallest.
    pub(crate) fn step(&self, all: &[Self]) -> Option<Ratio> {
        let same_server = |size: &&Self| size.later.server == self.later.server;
        let before = all.iter().filter(same_server).find(|size| size.documents * 10 == self.documents)?;
        let p50s = |size: &Self| -> Vec<f64> { size.later.rounds.iter().map(|sample| sample.p50_us).collect() };
        Some(Ratio::of_pairs(&p50s(self), &p50s(before)))
    }
}

#[cfg(test)]
mod tests {
    use crate::bench_support::sample::Sample;

    use super::*;

    fn size(server: &'static str, documents: usize, p50s: &[f64]) -> Size {
        let mut later = Cell::new(server, 1);
        for p50_us in p50s {
            let (calls_per_second, p99_us) = (1e6 / p50_us, *p50_us);
            later.push(Sample { calls_per_second, p50_us: *p50_us, p99_us, server_cpu_us: 0.0, others_cores: 0.0 });
        }
        Size { documents, first_ms: 0.0, peak_bytes: 0, later }
    }

    #[test]
    fn sizes_grow_tenfold_up_to_the_largest() {
        assert_eq!(sizes(100_000).collect::<Vec<_>>(), [100, 1_000, 10_000, 100_000]);
        assert_eq!(sizes(5_000).collect::<Vec<_>>(), [100, 1_000]);
    }

    #[test]
    fn a_step_is_to_the_same_servers_size_before() {
        let all = [size("a", 100, &[1.0, 2.0]), size("b", 100, &[9.0, 9.0]), size("a", 1_000, &[8.0, 16.0])];
        assert_eq!(all[2].step(&all), Some(Ratio { median: 8.0, least: 8.0, most: 8.0 }));
        assert_eq!(all[1].step(&all), None);
    }
}
