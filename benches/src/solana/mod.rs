//! The Solana chain: the same reads sent to a node and through Mainstay's `POST /api/mcp` to that node. Without its cache
//! Mainstay should add little to the node's latency; with it, it should answer many times as often as the node.
//!
//! A node on the same machine answers in 50 microseconds, which is less than any second hop takes and as no user's node
//! does. So there are two tables of everything: the node as it is, and the node with answers that are some milliseconds
//! later; the targets are those of the second.

mod call;
mod contenders;
mod distance;
mod node;
mod report;
mod results;
mod targets;

use std::time::Duration;

use anyhow::Result;
use clap::Args;

use crate::bench_support::machine;
use crate::bench_support::options::Options;
use crate::solana::contenders::Contenders;
use crate::solana::distance::DELAY;
use crate::solana::node::Node;
use crate::solana::results::Results;

const SECONDS: f64 = 3.0;

/// Measures reads of the chain through Mainstay and at the node itself: latency without the cache, rate with it.
#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    options: Options,
}

pub(crate) async fn run(arguments: Arguments) -> Result<()> {
    let settings = arguments.options.settings(SECONDS)?;
    let programs = settings.programs()?;
    let scratch = programs.scratch()?;
    let mut parts = Vec::new();
    for delay in [Duration::ZERO, DELAY] {
        // A node that has answered a million calls may stop answering.
        let node = Node::start(&programs, scratch.path()).await?;
        let contenders = Contenders::start(&programs, scratch.path(), &settings, &node, delay).await?;
        parts.extend(contenders.run_rounds(&settings).await?);
    }
    let mut results = Results {
        machine: machine(),
        rounds: settings.rounds,
        seconds_a_round: settings.length.as_secs_f64(),
        parts,
        ..Results::default()
    };
    results.comparisons = results.compare_with_baseline();
    results.targets = targets::judge(&results);
    print!("{results}");
    settings.save(&results)
}
