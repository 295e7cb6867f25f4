//! Caches of documents that are frozen to the byte, and what of them goes into a budget of tokens.
//!
//! A cache is built once and never changed: another takes its place. `manifest.rs` and `cache.rs` know what it looks
//! like, `build.rs` makes one, `caches.rs` finds those of the cache root by name. A question is answered by `index.rs`
//! from memory or by `scan.rs` from disk; `select.rs` decides what fits.

mod build;
mod cache;
mod caches;
mod crew;
mod examine;
mod failure;
mod flaw;
mod index;
mod inspect_cache;
mod list_caches;
mod local;
mod manifest;
mod resolve;
mod scan;
mod select;
mod settings;
mod shard;
mod shelf;
mod sources;
mod steady;
mod stems;
#[cfg(test)]
mod tests;
mod vigil;
mod words;

use std::sync::Arc;

use mainstay_core::{Error, Family, Result, Told};
use serde::Serialize;

use caches::Caches;
use vigil::Vigil;

use crate::Setup;
pub use crate::progress::Progress;
pub use build::{Built, Plan};
pub use examine::{Examined, Inspection};
pub use failure::Failure;
pub use flaw::Flaw;
pub use local::{count_at, examine_at, resolve_at};
pub use select::Format;
pub use settings::ContextSettings;

const DIALECT: &str = "context";

/// What the three tools share.
#[derive(Debug, Clone)]
struct Desk {
    caches: Arc<Caches>,
    reply_bytes: u64,
}

pub(crate) fn family(setup: &Setup) -> Family {
    let settings = &setup.context;
    let caches = Arc::new(Caches::new(setup.caches.clone(), settings.memory_bytes));
    let desk = Desk { caches: caches.clone(), reply_bytes: settings.reply_bytes };
    let vigil = Arc::new(Vigil::new(caches.clone()));
    setup.watch.also(vigil.clone());
    Family::new(DIALECT)
        .tool(resolve::Resolve(desk.clone()))
        .tool(list_caches::ListCaches(desk.clone()))
        .tool(inspect_cache::InspectCache(desk))
        .resources(shelf::Shelf::new(caches, vigil, settings.reply_bytes))
}

/// A value with the text that the contract has for it, whose members are in an order of their own.
fn told<T: Serialize>(value: T) -> Result<Told<T>> {
    let text = serde_json::to_string(&value).map_err(Error::internal)?;
    Ok(Told { value, text })
}
