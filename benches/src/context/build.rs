//! The build of a cache that does not exist yet.

use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::bench_support::program_run::{ProgramRun, RunSeries};
use crate::bench_support::{progress, turns};
use crate::context::Settings;
use crate::context::caches::Caches;
use crate::context::compare_caches::ensure_equal;
use crate::context::contenders::{Contender, Contenders};

pub(crate) async fn run(contenders: &Contenders, caches: &Caches, settings: &Settings) -> Result<Vec<RunSeries>> {
    let sources = caches.sources(settings.documents)?;
    let mut all: Vec<(Contender, PathBuf, RunSeries)> = Vec::new();
    for contender in &contenders.all {
        all.push((*contender, PathBuf::new(), RunSeries::new(contender.command_line())));
    }
    for round in 0..=settings.rounds {
        progress(&format!("build, round {round} of {}", settings.rounds));
        for at in turns(round, all.len()) {
            let (contender, cache, runs) = &mut all[at];
            // Nothing is removed on the way: for some seconds after that, a file system is slow to make files.
            *cache = contenders.scratch().join(format!("built-by-{}-{round}", contender.command_line()));
            // What anyone before has left to be written is written before the clock starts.
            rustix::fs::sync();
            runs.push(round, &ProgramRun::of(contenders.build(*contender, &sources.root, cache)?).await?);
        }
        for pair in all.windows(2) {
            let [(_, one, _), (_, another, _)] = pair else { continue };
            ensure_equal(one, another).context("the two have not built the same cache")?;
        }
    }
    Ok(all.into_iter().map(|(_, _, runs)| runs).collect())
}
