//! Queries to a running server, one at a time, and the memory it takes.

use anyhow::Result;

use crate::bench_support::cell::{Cell, MemoryRow};
use crate::bench_support::process_cost::Memory;
use crate::bench_support::stdio::{Load, StdioServer};
use crate::bench_support::{SETTLE, progress, turns};
use crate::context::Settings;
use crate::context::caches::Caches;
use crate::context::contenders::Contenders;
use crate::context::queries::{Answers, calls};

struct Contestant {
    server: StdioServer,
    load: Load,
    memory: MemoryRow,
    cell: Cell,
}

pub(crate) async fn run(
    contenders: &Contenders,
    caches: &mut Caches,
    settings: &Settings,
) -> Result<(Vec<Cell>, Vec<MemoryRow>)> {
    let mut servers = start(contenders, caches, settings).await?;
    for round in 1..=settings.rounds {
        progress(&format!("resolve in a running server, round {round} of {}", settings.rounds));
        for at in turns(round, servers.len()) {
            let Contestant { server, load, memory, cell } = &mut servers[at];
            cell.push(server.measure_whole_calls(load, settings.length).await?);
            if round == settings.rounds {
                memory.after_load = settled_memory(server).await?;
            }
        }
    }
    Ok(servers.into_iter().map(|server| (server.cell, server.memory)).unzip())
}

/// Starts the servers, reads the memory of each after one call, and compares their answers.
async fn start(contenders: &Contenders, caches: &mut Caches, settings: &Settings) -> Result<Vec<Contestant>> {
    let cache = caches.cache(contenders, settings.documents).await?;
    progress("resolve in a running server, the answers compared");
    let mut answered: Vec<(StdioServer, Memory, Answers)> = Vec::new();
    for contender in &contenders.all {
        let mut server = contenders.serve(*contender, &caches.root, "resolve").await?;
        server.ask(&calls(&cache)[0]).await?;
        let idle = settled_memory(&server).await?;
        let answers = Answers::of(&mut server, &cache).await?;
        if let Some((.., others)) = answered.first() {
            others.ensure_same(&answers)?;
        }
        answered.push((server, idle, answers));
    }
    let servers = answered.into_iter().map(|(server, idle, answers)| {
        let name = server.server.name;
        let memory = MemoryRow { server: name.to_owned(), idle, after_load: idle };
        Contestant { server, load: answers.load(), memory, cell: Cell::new(name, 1) }
    });
    Ok(servers.collect())
}

/// As long after its last call as every other server: some give memory back when they have been idle for a while.
async fn settled_memory(server: &StdioServer) -> Result<Memory> {
    tokio::time::sleep(SETTLE).await;
    Memory::of(server.server.pid)
}
