//! `bench NAME`: the benchmarks. Each is one run in which Mainstay, its peers and, on request, another build of Mainstay
//! take turns under the same load. How to read what they print is in `benches/README.md`.

#![expect(clippy::print_stdout, reason = "a benchmark's output is its purpose")]

mod agents;
mod analysis;
mod bench_support;
mod context;
mod protocol;
mod search;
mod solana;
mod workspace;

use anyhow::Result;
use clap::Parser;

/// Measures Mainstay beside its peers.
#[derive(Parser)]
#[command(name = "bench")]
enum Benchmark {
    Protocol(protocol::Arguments),
    Workspace(workspace::Arguments),
    Agents(agents::Arguments),
    Context(context::Arguments),
    Analysis(analysis::Arguments),
    Solana(solana::Arguments),
    Search(search::Arguments),
}

/// One thread for all of it: the load generator must leave the other cores to the server.
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    bench_support::until_stopped(async {
        match Benchmark::parse() {
            Benchmark::Protocol(arguments) => protocol::run(arguments).await,
            Benchmark::Workspace(arguments) => workspace::run(arguments).await,
            Benchmark::Agents(arguments) => agents::run(arguments).await,
            Benchmark::Context(arguments) => context::run(arguments).await,
            Benchmark::Analysis(arguments) => analysis::run(arguments).await,
            Benchmark::Solana(arguments) => solana::run(arguments).await,
            Benchmark::Search(arguments) => search::run(arguments).await,
        }
    })
    .await
}
