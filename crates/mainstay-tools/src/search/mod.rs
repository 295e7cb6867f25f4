//! The family `search`: finds code and text by meaning and by name. One file per tool.
//!
//! mainstay-search finds and ranks; here files are brought to it (`workspace/`), documents of agents
//! (`namespaces/`), and vectors of other models (`provider/`).

mod delete;
mod refresh;
mod similar;
mod status;
mod symbols;
mod upsert;
mod vector_search;

mod command_line;
mod embedders;
mod file_contents;
mod matches;
mod namespace_search;
mod namespaces;
mod provider;
mod query;
mod search_tools;
mod settings;
#[cfg(test)]
mod tests;
mod workspace;

use std::path::Path;

use mainstay_core::{Effect, Family, Result, Spec};
use mainstay_sandbox::Workspace;
use mainstay_sandbox::exec::ExecSettings;
use mainstay_store::Store;

pub use crate::progress::Progress;
pub use command_line::{NamedWorkspace, Query, SearchMatch};
pub use embedders::Embedders;
pub use provider::EmbeddingProvider;
use search_tools::SearchTools;
pub use settings::{ProviderUse, SearchSettings};
pub use status::Status;

/// The family with all its tools, in the order in which they are listed. `indexes` is the directory for indexes. Fails if a
/// configured model cannot be used.
pub(crate) fn family(
    workspace: &Workspace,
    exec: &ExecSettings,
    settings: &SearchSettings,
    indexes: &Path,
    store: &Store,
) -> Result<Family> {
    let tools = SearchTools::new(workspace, exec, settings, indexes, store)?;
    Ok(Family::new("search")
        .tool(vector_search::VectorSearch(tools.clone()))
        .tool(symbols::SearchSymbols(tools.clone()))
        .tool(similar::SearchSimilar(tools.clone()))
        .tool(upsert::VectorUpsert(tools.clone()))
        .tool(delete::VectorDelete(tools.clone()))
        .tool(status::IndexStatus(tools.clone()))
        .tool(refresh::IndexRefresh(tools)))
}

/// The declaration of a tool of this family, before its title and description.
const fn spec(verb: &'static str, effect: Effect) -> Spec {
    Spec { tags: &["search"], ..Spec::new("search", verb, effect) }
}
