//! A query from the command line: a program that starts, reads the cache, answers and ends.

use anyhow::Result;

use crate::bench_support::program_run::{ProgramRun, RunSeries};
use crate::bench_support::{progress, turns};
use crate::context::Settings;
use crate::context::caches::Caches;
use crate::context::contenders::Contenders;
use crate::context::queries::{ensure_same_text, queries};

pub(crate) async fn run(contenders: &Contenders, caches: &mut Caches, settings: &Settings) -> Result<Vec<RunSeries>> {
    let name = caches.cache(contenders, settings.documents).await?;
    let cache = caches.root.join(name);
    let queries = queries();
    let mut all: Vec<RunSeries> =
        contenders.all.iter().map(|contender| RunSeries::new(contender.command_line())).collect();
    for round in 0..=settings.rounds {
        progress(&format!("resolve from the command line, round {round} of {}", settings.rounds));
        let query = &queries[round % queries.len()];
        let mut answer: Option<Vec<u8>> = None;
        for at in turns(round, all.len()) {
            let run = ProgramRun::of(contenders.resolve(contenders.all[at], &cache, query)?).await?;
            all[at].push(round, &run);
            if let Some(answer) = &answer {
                ensure_same_text(&query.query, answer, &run.stdout)?;
            }
            answer = Some(run.stdout);
        }
    }
    Ok(all)
}
