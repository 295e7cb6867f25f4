//! What every handler of the standard protocol shares, whatever connection it serves.

use mainstay_engine::Engine;
use rmcp::model::{Implementation, MetaObject, ServerCapabilities, ServerConfig};
use serde_json::Value;

use super::request::Era;
use super::request_state::RequestStateSealer;
use super::task_sets::TaskSets;
use crate::About;

/// One for each server process, behind an `Arc`.
pub(crate) struct Shared {
    pub(crate) engine: Engine,
    /// Signs the state of calls that have questions.
    pub(crate) request_states: RequestStateSealer,
    pub(crate) tasks: TaskSets,
    /// What the server tells each client about itself: name, version, capabilities, instructions for the model.
    pub(crate) info: ServerConfig,
    /// The server's name and version as they go into each result's `_meta`; serialized once.
    server_info: Value,
}

impl Shared {
    pub(crate) fn new(engine: Engine, about: &About) -> Self {
        // The same for every client; what a caller may see of it is decided when lists are made.
        let mut info = ServerConfig::new(capabilities());
        info.server_info = Implementation::new("mainstay", about.version).with_title("Mainstay");
        info.instructions = Some(about.instructions.clone());
        Self {
            request_states: RequestStateSealer::default(),
            tasks: TaskSets::default(),
            server_info: serde_json::to_value(&info.server_info).unwrap_or_default(),
            info,
            engine,
        }
    }

    /// Adds the server's name and version to a result: the stateless protocol wants it in each one.
    pub(crate) fn stamp(&self, era: Era, meta: &mut Option<MetaObject>) {
        // Sessions were told in their handshake, and older clients do not expect it.
        if era == Era::Stateless {
            let meta = meta.get_or_insert_with(MetaObject::new);
            meta.0.insert("io.modelcontextprotocol/serverInfo".into(), self.server_info.clone());
        }
    }
}

/// What the server declares. Lists may change: a tool can announce that one of them did.
/// Completions, logging and tasks are declared without conditions; whether they are used is the client's choice.
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
