//! The family `search`: finds code and text by meaning and by name. One file per tool.
//!
//! mainstay-search finds and ranks; here files are brought to it ([`workspace`]), documents of agents
//! ([`namespaces`]), and vectors of other models ([`provider`]).

mod delete;
mod refresh;
mod similar;
mod status;
mod symbols;
mod upsert;
mod vector_search;

mod command_line;
mod embedders;
mod matches;
mod namespaces;
mod provider;
mod search_tools;
mod settings;
#[cfg(test)]
mod tests;
mod workspace;

use mainstay_core::{Effect, Family, Result, Spec};

pub use crate::progress::Progress;
pub use command_line::{Found, NamedWorkspace, Query};
pub use embedders::Embedders;
pub use provider::EmbeddingProvider;
pub(crate) use search_tools::SearchTools;
pub use settings::{ProviderUse, SearchSettings};
pub use status::Status;

use crate::setup::Setup;

/// The family with all its tools, in the order in which they are listed. Fails if a configured model cannot be used.
pub(crate) fn family(setup: &Setup) -> Result<Family> {
    let tools = SearchTools::of(setup)?;
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
