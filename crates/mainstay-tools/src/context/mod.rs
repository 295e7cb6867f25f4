//! Caches of documents that are frozen to the byte, and what of them goes into a budget of tokens.
//!
//! A cache is built once and never changed: another takes its place. `cache/` knows what it looks like on disk, `build/`
//! makes one, `cache_root.rs` finds those of the cache root by name, `query/` answers questions.

mod build;
mod cache;
mod cache_root;
mod command_line;
mod inspect_cache;
mod list_caches;
mod query;
mod resolve;
mod resources;
mod settings;
#[cfg(test)]
mod tests;
mod watcher;
mod worker_pool;

use std::sync::Arc;

use mainstay_core::{Error, Family, Result, Told};
use serde::Serialize;

use cache_root::Caches;
use watcher::Vigil;

use crate::Setup;
pub use crate::progress::Progress;
pub use build::{Built, Plan};
pub use cache::defect::Flaw;
pub use cache::error::Failure;
pub use cache::verify::{Examined, Inspection};
pub use command_line::{count_at, examine_at, resolve_at};
pub use query::select::Format;
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
        .resources(resources::Shelf::new(caches, vigil, settings.reply_bytes))
}

/// A value with the text that the contract has for it, whose members are in an order of their own.
fn told<T: Serialize>(value: T) -> Result<Told<T>> {
    let text = serde_json::to_string(&value).map_err(Error::internal)?;
    Ok(Told { value, text })
}
