//! The tool families, one folder each. A tool is a file in its family's folder and one line in the family's list.
//!
//! Families do not use each other: what they share is in the modules beside them.

mod agents;
pub mod code;
pub mod context;
mod defaults;
mod descriptors;
mod diff;
mod exec;
mod files;
mod git;
mod pagination;
mod planning;
mod progress;
pub mod search;
mod server;
mod setup;
mod solana;
pub mod templates;
#[cfg(test)]
mod testing;
mod text;
mod walk;
mod watch;

use mainstay_core::{Error, Family, Result};

pub use setup::{AgentsSettings, CodeSettings, ContextSettings, LazyDocument, Setup, TemplatesSettings};
pub use solana::{
    Profile as SolanaProfile, SendLevel, SolanaNetwork, SolanaSending, SolanaSettings, SolanaTokenLimit, SolanaTools,
};
pub use watch::ResourceWatcher;

/// The names of all families, in the order in which they are listed.
pub const FAMILIES: [&str; 9] =
    ["agents", "code", "context", "exec", "files", "search", "server", "solana", "templates"];

/// The wanted families; all of them if none is named. An unknown name is an error, because a typing mistake must not
/// result in a server without tools.
pub fn families(setup: &Setup, wanted: &[String]) -> Result<Vec<Family>> {
    if let Some(unknown) = wanted.iter().find(|name| !FAMILIES.contains(&name.as_str())) {
        return Err(Error::invalid(format!(
            "There is no tool family {unknown:?}; available: {}.",
            FAMILIES.join(", ")
        )));
    }
    let all = vec![
        agents::family(setup),
        code::family(setup),
        context::family(setup),
        exec::family(&setup.workspace, &setup.exec),
        files::family(&setup.workspace, &setup.files),
        search::family(&setup.workspace, &setup.exec, &setup.search, &setup.search_indexes, &setup.store)?,
        server::family(setup),
        solana::family(&setup.solana, &setup.store)?,
        templates::family(setup),
    ];
    Ok(all.into_iter().filter(|family| wanted.is_empty() || wanted.contains(&family.name)).collect())
}

#[cfg(test)]
mod tests {
    use mainstay_core::Kind;

    use super::*;

    async fn all() -> Vec<Family> {
        families(&testing::setup().await, &[]).unwrap()
    }

    #[tokio::test]
    async fn the_list_of_names_is_the_list_of_families() {
        let names: Vec<_> = all().await.into_iter().map(|family| family.name).collect();
        assert_eq!(names, FAMILIES);
    }

    #[tokio::test]
    async fn every_tool_has_a_title_and_a_description_and_belongs_to_its_family() {
        for family in all().await {
            for tool in &family.tools {
                let info = tool.info();
                assert_eq!(info.family, family.name);
                assert!(!info.title.is_empty() && info.description.len() > 40, "{}", info.listed);
            }
        }
    }

    /// They are compiled at the first call of a tool, which would be a bad moment to find out.
    #[tokio::test]
    async fn every_schema_compiles() {
        for tool in all().await.iter().flat_map(|family| &family.tools) {
            let arguments = serde_json::json!("not an object");
            assert_eq!(tool.check(&arguments).unwrap_err().kind, Kind::Invalid, "{}", tool.info().listed);
        }
    }

    #[tokio::test]
    async fn an_unknown_family_is_rejected_by_name() {
        let error = families(&testing::setup().await, &["fils".to_owned()]).err().unwrap();
        assert!(error.public.contains("fils") && error.public.contains("server"));
    }
}
