//! `vector_delete`: removes documents from a namespace, or all of it.

use mainstay_core::{Context, Effect, Error, Pace, Result, Spec, Spelling, Tool};
use mainstay_store::WriteMode;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::search_tools::SearchTools;
use super::spec;

/// The most documents of one call.
const MAX_IDS: usize = 10_000;

pub(crate) struct VectorDelete(pub(super) SearchTools);

#[derive(Debug, Deserialize, schemars::JsonSchema)]
pub(crate) struct Args {
    /// Name of the namespace.
    namespace: String,
    /// Ids of the documents to delete.
    #[serde(default)]
    ids: Vec<String>,
    /// Delete the namespace with all its documents.
    #[serde(default)]
    all: bool,
    /// Delete nothing; return what would be deleted.
    #[serde(default)]
    dry_run: bool,
}

#[derive(Debug, Serialize, schemars::JsonSchema)]
pub(crate) struct Output {
    namespace: String,
    /// Number of documents deleted.
    deleted: u64,
    /// Ids that the namespace does not have.
    missing: Vec<String>,
    dry_run: bool,
}

impl Tool for VectorDelete {
    const SPEC: Spec = Spec {
        title: "Delete documents from search",
        description: "Deletes documents of a namespace that vector_upsert has stored, by their ids, or the whole namespace \
                      with all. Files of the workspace are not touched.",
        pace: Pace::Quick,
        dry_run: true,
        idempotent: true,
        // A document can be put again by its author; a namespace may be the work of others.
        weigh: Some(effect),
        spellings: &[
            Spelling { dialect: "mcp", name: "vector_delete" },
            Spelling { dialect: "mira", name: "vector/delete" },
        ],
        ..spec("delete", Effect::Writes)
    };
    type Args = Args;
    type Output = Output;

    async fn call(&self, args: Args, context: &Context) -> Result<Output> {
        let Args { namespace, ids, all, dry_run } = args;
        if all != ids.is_empty() || ids.len() > MAX_IDS {
            let line = format!("Give either ids, at most {MAX_IDS}, or all: true to delete the namespace.");
            return Err(Error::field("ids", line));
        }
        let mode = if dry_run { WriteMode::DryRun } else { WriteMode::Commit };
        let namespaces = self.0.namespaces();
        if all {
            let deleted = namespaces.delete_all(&namespace, mode).await?.documents;
            return Ok(Output { namespace, deleted, missing: Vec::new(), dry_run });
        }
        let outcome = namespaces.delete(&namespace, ids, &*context.clock, mode).await?;
        Ok(Output { namespace, deleted: outcome.deleted.len() as u64, missing: outcome.missing, dry_run })
    }
}

fn effect(args: &Value) -> Effect {
    if args.get("all") == Some(&Value::Bool(true)) { Effect::Destroys } else { Effect::Writes }
}
