//! Queries to a running server, one at a time, and the memory it takes.

use anyhow::Result;
use yardstick::cell::{Cell, MemoryRow};
use yardstick::process_cost::Memory;
use yardstick::stdio::{Load, StdioServer};
use yardstick::{SETTLE, progress, turns};

use crate::Settings;
use crate::field::Field;
use crate::questions::{Answers, calls};
use crate::shelf::Shelf;

struct Entrant {
    server: StdioServer,
    load: Load,
    memory: MemoryRow,
    cell: Cell,
}

pub(crate) async fn run(field: &Field, shelf: &mut Shelf, settings: &Settings) -> Result<(Vec<Cell>, Vec<MemoryRow>)> {
    let mut entrants = enter(field, shelf, settings).await?;
    for round in 1..=settings.rounds {
        progress(&format!("resolve in a running server, round {round} of {}", settings.rounds));
        for at in turns(round, entrants.len()) {
            let Entrant { server, load, memory, cell } = &mut entrants[at];
            cell.push(server.measure_whole_calls(load, settings.length).await?);
            if round == settings.rounds {
                memory.after_load = settled_memory(server).await?;
            }
        }
    }
    Ok(entrants.into_iter().map(|entrant| (entrant.cell, entrant.memory)).unzip())
}

/// Starts the servers, reads the memory of each after one call, and holds their answers against each other.
async fn enter(field: &Field, shelf: &mut Shelf, settings: &Settings) -> Result<Vec<Entrant>> {
    let cache = shelf.cache(field, settings.documents).await?;
    progress("resolve in a running server, the answers compared");
    let mut answered: Vec<(StdioServer, Memory, Answers)> = Vec::new();
    for side in &field.sides {
        let mut server = field.serve(*side, &shelf.root, "resolve").await?;
        server.ask(&calls(&cache)[0]).await?;
        let idle = settled_memory(&server).await?;
        let answers = Answers::of(&mut server, &cache).await?;
        if let Some((.., others)) = answered.first() {
            others.ensure_same(&answers)?;
        }
        answered.push((server, idle, answers));
    }
    let entrants = answered.into_iter().map(|(server, idle, answers)| {
        let name = server.server.name;
        let memory = MemoryRow { server: name.to_owned(), idle, after_load: idle };
        Entrant { server, load: answers.load(), memory, cell: Cell::new(name, 1) }
    });
    Ok(entrants.collect())
}

/// As long after its last call as every other server: some give memory back when they have been idle for a while.
async fn settled_memory(server: &StdioServer) -> Result<Memory> {
    tokio::time::sleep(SETTLE).await;
    Memory::of(server.server.pid)
}
