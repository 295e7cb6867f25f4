//! `vector_upsert`: puts documents into a namespace.

use mainstay_core::{Context, Effect, Error, Pace, Result, Spec, Spelling, Tool};
use mainstay_store::{PutOutcome, WriteMode};
use serde::{Deserialize, Serialize};

use super::namespaces::NewDocument;
use super::search_tools::SearchTools;
use super::spec;

/// The most documents of one call, and the most tags of one document.
const MAX_DOCUMENTS: usize = 1000;
const MAX_TAGS: usize = 32;
const MAX_TAG_BYTES: usize = 64;

pub(crate) struct VectorUpsert(pub(super) SearchTools);

#[derive(Debug, Deserialize, schemars::JsonSchema)]
pub(crate) struct Args {
    /// Name of the namespace, which is made if there is none.
    namespace: String,
    /// Documents to store; one with the id of another replaces it.
    #[schemars(length(min = 1, max = 1000))]
    documents: Vec<Document>,
    /// Store nothing; return what would be stored.
    #[serde(default)]
    dry_run: bool,
}

#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[schemars(inline)]
#[serde(deny_unknown_fields)]
struct Document {
    /// Name of the document in its namespace.
    #[schemars(length(min = 1, max = 512))]
    id: String,
    /// Text to be found by meaning.
    text: String,
    /// Title or origin that results show; its extension says what the text is written in. Default: the id.
    path: Option<String>,
    /// Words to filter by.
    #[serde(default)]
    tags: Vec<String>,
}

#[derive(Debug, Serialize, schemars::JsonSchema)]
pub(crate) struct Output {
    namespace: String,
    added: u64,
    replaced: u64,
    /// Documents that were stored exactly so.
    unchanged: u64,
    dry_run: bool,
}

impl Tool for VectorUpsert {
    const SPEC: Spec = Spec {
        title: "Store documents for search",
        description: "Stores notes or other texts in a namespace, where vector_search with that namespace finds them by \
                      meaning, in this session and later ones. Use it to keep what should be remembered.",
        pace: Pace::Quick,
        dry_run: true,
        idempotent: true,
        spellings: &[
            Spelling { dialect: "mcp", name: "vector_upsert" },
            Spelling { dialect: "mira", name: "vector/upsert" },
        ],
        ..spec("upsert", Effect::Writes)
    };
    type Args = Args;
    type Output = Output;

    async fn call(&self, args: Args, context: &Context) -> Result<Output> {
        let Args { namespace, documents, dry_run } = args;
        if documents.len() > MAX_DOCUMENTS {
            let line = format!("{} documents are more than the {MAX_DOCUMENTS} of one call.", documents.len());
            return Err(Error::field("documents", line));
        }
        let most_bytes = self.0.settings().file_bytes;
        let documents =
            documents.into_iter().map(|document| document.checked(most_bytes)).collect::<Result<Vec<_>>>()?;
        let mode = if dry_run { WriteMode::DryRun } else { WriteMode::Commit };
        let outcome = self.0.namespaces().put(&namespace, documents, &*context.clock, mode).await?;
        match outcome {
            PutOutcome::Stored { added, replaced, unchanged, .. } => {
                Ok(Output { namespace, added, replaced, unchanged, dry_run })
            }
            PutOutcome::NameTooLong { name } => {
                let shown: String = name.chars().take(80).collect();
                Err(Error::field("documents", format!("The id {shown:?} is too long.")))
            }
            PutOutcome::OverLimit { .. } => Err(Error::internal("a limit was not reported")),
        }
    }
}

impl Document {
    fn checked(self, most_bytes: u64) -> Result<NewDocument> {
        let Self { id, text, path, tags } = self;
        let shown: String = id.chars().take(80).collect();
        let refuse = |reason: String| Err(Error::field("documents", format!("Document {shown:?}: {reason}")));
        if id.trim().is_empty() {
            return refuse("its id is empty.".to_owned());
        }
        if text.trim().is_empty() {
            return refuse("its text is empty.".to_owned());
        }
        if text.len() as u64 > most_bytes {
            return refuse(format!("its text has {} bytes; at most {most_bytes} are accepted.", text.len()));
        }
        if tags.len() > MAX_TAGS || tags.iter().any(|tag| tag.is_empty() || tag.len() > MAX_TAG_BYTES) {
            return refuse(format!("it may have {MAX_TAGS} tags of 1 to {MAX_TAG_BYTES} bytes."));
        }
        let path = path.filter(|path| !path.is_empty()).unwrap_or_else(|| id.clone());
        Ok(NewDocument { id, path, text, tags })
    }
}
