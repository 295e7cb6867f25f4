//! The tool families. Each has a folder; each folder has a list; a tool is a file and one line of that list.

mod agents;
pub mod context;
mod exec;
mod files;
mod progress;
mod server;
#[cfg(test)]
mod testing;
mod watch;

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use mainstay_core::{Error, Family, Result};
use mainstay_sandbox::exec::ExecSettings;
use mainstay_sandbox::{FilesSettings, Workspace};
use mainstay_store::Store;
use serde_json::Value;

pub use agents::AgentsSettings;
pub use context::ContextSettings;
pub use watch::ResourceWatcher;

/// What the families are built from.
#[derive(Debug, Clone)]
pub struct Setup {
    pub version: &'static str,
    pub workspace: Workspace,
    pub files: FilesSettings,
    pub exec: ExecSettings,
    pub agents: AgentsSettings,
    pub context: ContextSettings,
    /// Where context caches lie.
    pub caches: PathBuf,
    pub store: Store,
    /// The description of the server's HTTP interface, once it is known.
    pub openapi: Arc<OnceLock<Value>>,
    /// Resources that are watched for changes. The program runs it once the families are built.
    pub watcher: ResourceWatcher,
    pub started: Instant,
}

/// Every family there is, in the order they are listed.
pub const FAMILIES: [&str; 5] = ["agents", "context", "exec", "files", "server"];

/// The families asked for, or all of them. A name that is none of ours is an error: a typing mistake must not turn
/// into a server without tools.
pub fn families(setup: &Setup, wanted: &[String]) -> Result<Vec<Family>> {
    if let Some(unknown) = wanted.iter().find(|name| !FAMILIES.contains(&name.as_str())) {
        return Err(Error::invalid(format!(
            "There is no tool family {unknown:?}; there are: {}.",
            FAMILIES.join(", ")
        )));
    }
    let all = vec![
        agents::family(setup),
        context::family(setup),
        exec::family(&setup.workspace, &setup.exec),
        files::family(&setup.workspace, &setup.files),
        server::family(setup),
    ];
    Ok(all.into_iter().filter(|family| wanted.is_empty() || wanted.contains(&family.name)).collect())
}

/// The default of an argument that holds unless the caller says otherwise.
fn yes() -> bool {
    true
}

#[cfg(test)]
mod tests {
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
    async fn every_tool_is_told_in_words_and_belongs_to_its_family() {
        for family in all().await {
            for tool in &family.tools {
                let info = tool.info();
                assert_eq!(info.name.family, family.name);
                assert!(!info.title.is_empty() && info.description.len() > 40, "{}", info.listed);
            }
        }
    }

    #[tokio::test]
    async fn a_family_that_is_not_there_is_refused_by_name() {
        let refused = families(&testing::setup().await, &["fils".to_owned()]).err().unwrap();
        assert!(refused.public.contains("fils") && refused.public.contains("server"));
    }
}
