//! The standard protocol, in every current version, over the official SDK.
//!
//! The SDK's types live in this folder and nowhere else in the crate but the two transports that feed it.
#![expect(deprecated, reason = "logging, sampling and roots are on their way out, and clients of today still use them")]

mod answers;
mod encode;
mod errand;
mod express;
mod handler;
mod resume;
mod sessions;
mod sink;
mod subscriptions;
mod tasks;

use mainstay_engine::Engine;
use rmcp::model::{Implementation, MetaObject, ServerCapabilities};

use crate::About;

pub(crate) use express::Plain;
pub(crate) use handler::{Handler, Piped};
pub(crate) use sessions::{CALLER, Kept, Sessions};

/// What every handler shares, whatever connection it serves.
pub(crate) struct Shared {
    pub(crate) engine: Engine,
    pub(crate) sealer: answers::Sealer,
    pub(crate) tasks: tasks::Tasks,
    pub(crate) implementation: Implementation,
    pub(crate) instructions: String,
    pub(crate) capabilities: ServerCapabilities,
    /// The server's name and version as they go into each result's `_meta`.
    pub(crate) server_info: serde_json::Value,
}

impl Shared {
    pub(crate) fn new(engine: Engine, about: &About) -> Self {
        let implementation = Implementation::new("mainstay", about.version).with_title("Mainstay");
        Self {
            sealer: answers::Sealer::default(),
            tasks: tasks::Tasks::default(),
            server_info: serde_json::to_value(&implementation).unwrap_or_default(),
            implementation,
            instructions: about.instructions.clone(),
            capabilities: capabilities(),
            engine,
        }
    }
}

impl Shared {
    /// In the stateless protocol each result says which server gave it.
    fn stamp(&self, era: sink::Era, meta: &mut Option<MetaObject>) {
        if era == sink::Era::Stateless {
            let meta = meta.get_or_insert_with(MetaObject::new);
            meta.0.insert("io.modelcontextprotocol/serverInfo".into(), self.server_info.clone());
        }
    }
}

fn capabilities() -> ServerCapabilities {
    ServerCapabilities::builder()
        .enable_tools()
        .enable_tool_list_changed()
        .enable_resources()
        .enable_resources_subscribe()
        .enable_resources_list_changed()
        .enable_prompts()
        .enable_prompts_list_changed()
        .enable_completions()
        .enable_logging()
        .enable_tasks()
        .build()
}
