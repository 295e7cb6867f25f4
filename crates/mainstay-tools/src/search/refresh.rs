//! `index_refresh`: looks at all files again, or builds an index anew.

use mainstay_core::{Context, Effect, Pace, Result, Spec, Spelling, Tool, WithText};
use serde::Deserialize;

use super::search_tools::SearchTools;
use super::spec;
use super::status::Output;
use crate::progress::run_with_progress;

pub(crate) struct IndexRefresh(pub(super) SearchTools);

#[derive(Debug, Deserialize, schemars::JsonSchema)]
pub(crate) struct Args {
    /// A root of the workspace, or a namespace. Default: all roots.
    namespace: Option<String>,
    /// Throw the index away and build it again.
    #[serde(default)]
    rebuild: bool,
}

impl Tool for IndexRefresh {
    const SPEC: Spec = Spec {
        title: "Refresh the search index",
        description: "Compares all files with the search index and indexes what differs; with rebuild, indexes everything \
                      again. Searches do this by themselves: use it to index ahead of time, or if results seem wrong.",
        pace: Pace::Long,
        spellings: &[
            Spelling { dialect: "mcp", name: "index_refresh" },
            Spelling { dialect: "mira", name: "index/refresh" },
        ],
        ..spec("index_refresh", Effect::Reads)
    };
    type Args = Args;
    type Output = WithText<Output>;

    async fn call(&self, args: Args, context: &Context) -> Result<WithText<Output>> {
        let Args { namespace, rebuild } = args;
        let Some(roots) = self.0.roots(namespace.as_deref()) else {
            self.0.namespaces().refresh(namespace.as_deref().unwrap_or_default(), rebuild).await?;
            return self.output(namespace).await;
        };
        let roots: Vec<_> = roots.into_iter().map(|root| root.index.clone()).collect();
        run_with_progress(context, "files", move |progress| {
            roots.iter().try_for_each(|root| root.refresh(rebuild, &progress).map(drop))
        })
        .await?;
        self.output(namespace).await
    }
}

impl IndexRefresh {
    async fn output(&self, namespace: Option<String>) -> Result<WithText<Output>> {
        let mut namespaces = self.0.status(namespace.as_deref()).await?;
        // Without a name only roots were refreshed.
        let is_root = |name: &str| self.0.roots(Some(name)).is_some();
        namespaces.retain(|status| namespace.is_some() || is_root(&status.namespace));
        Ok(Output { namespaces }.with_text())
    }
}
