//! The build of a cache that does not exist yet.

use std::path::PathBuf;

use anyhow::{Context, Result};
use yardstick::{progress, turns};

use crate::Settings;
use crate::deed::{Deed, Deeds};
use crate::equal::ensure_equal;
use crate::field::{Field, Side};
use crate::shelf::Shelf;

pub(crate) async fn run(field: &Field, shelf: &Shelf, settings: &Settings) -> Result<Vec<Deeds>> {
    let sources = shelf.sources(settings.documents)?;
    let mut all: Vec<(Side, PathBuf, Deeds)> = Vec::new();
    for side in &field.sides {
        all.push((*side, PathBuf::new(), Deeds::new(side.command_line())));
    }
    for round in 0..=settings.rounds {
        progress(&format!("build, round {round} of {}", settings.rounds));
        for at in turns(round, all.len()) {
            let (side, cache, deeds) = &mut all[at];
            // Nothing is removed on the way: for some seconds after that, a file system is slow to make files.
            *cache = field.scratch().join(format!("built-by-{}-{round}", side.command_line()));
            // What anyone before has left to be written is written before the clock starts.
            rustix::fs::sync();
            deeds.push(round, &Deed::of(field.build(*side, &sources.root, cache)?).await?);
        }
        for pair in all.windows(2) {
            let [(_, one, _), (_, another, _)] = pair else { continue };
            ensure_equal(one, another).context("the two have not built the same cache")?;
        }
    }
    Ok(all.into_iter().map(|(_, _, deeds)| deeds).collect())
}
