//! Context caches: sets of Markdown documents that are frozen to the byte, and queries that fill a budget of tokens with
//! documents of a cache (contract 002).
//!
//! A cache is built once and never changed, only replaced as a whole. `cache/` reads and verifies one, `build/` makes one,
//! `query/` answers queries, `cache_root.rs` finds caches by name. The three tools and the resources work on the cache
//! root; the command line (`command_line.rs`) works on paths.

mod build;
mod cache;
mod cache_root;
mod command_line;
mod inspect_cache;
mod list_caches;
mod parallel;
mod query;
mod resolve;
mod resources;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod watcher;

use std::sync::Arc;

use mainstay_core::{Error, Family, Result, WithText};
use serde::Serialize;

use cache_root::CacheRoot;
use watcher::DocumentWatcher;

pub use crate::progress::Progress;
use crate::setup::Setup;
pub use build::{BuildReport, Plan};
pub use cache::{Defect, Inspection, Verification};
pub use command_line::{count_caches_at, resolve_at, verify_at};
pub use query::Format;

/// Name of the family, and of the dialect in which its tools have names with a dot.
const DIALECT: &str = "context";

/// What the three tools work on.
#[derive(Debug, Clone)]
struct ContextTools {
    caches: Arc<CacheRoot>,
    max_reply_bytes: u64,
}

/// The family with its three tools and its resources. Caches are opened when they are first asked for.
pub(crate) fn family(setup: &Setup) -> Family {
    let settings = &setup.context;
    let caches = Arc::new(CacheRoot::new(setup.caches.clone(), settings.memory_bytes));
    let tools = ContextTools { caches: caches.clone(), max_reply_bytes: settings.reply_bytes };
    let watcher = Arc::new(DocumentWatcher::new(caches.clone()));
    setup.watcher.add_source(watcher.clone());
    Family::new(DIALECT)
        .tool(resolve::Resolve(tools.clone()))
        .tool(list_caches::ListCaches(tools.clone()))
        .tool(inspect_cache::InspectCache(tools))
        .resources(resources::DocumentResources { caches, watcher, max_bytes: settings.reply_bytes })
}

/// A value with its JSON as text. The contract fixes the order of the members in the text; structured values lose it.
fn with_json_text<T: Serialize>(value: T) -> Result<WithText<T>> {
    let text = serde_json::to_string(&value).map_err(Error::internal)?;
    Ok(WithText { value, text })
}
