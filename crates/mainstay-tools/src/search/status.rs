//! `index_status`: what is indexed.

use std::fmt::Write as _;

use mainstay_core::{Context, Effect, Pace, Result, Spec, Spelling, Tool, WithText};
use mainstay_store::SearchNamespace;
use serde::{Deserialize, Serialize};

use super::search_tools::SearchTools;
use super::spec;
use super::workspace::{RootIndex, WatchStatus};
use crate::progress::blocking;

pub(crate) struct IndexStatus(pub(super) SearchTools);

#[derive(Debug, Deserialize, schemars::JsonSchema)]
pub(crate) struct Args {
    /// A root of the workspace, or a namespace. Default: all of them.
    namespace: Option<String>,
}

#[derive(Debug, Serialize, schemars::JsonSchema)]
pub(crate) struct Output {
    pub(super) namespaces: Vec<Status>,
}

/// One index.
#[derive(Debug, Clone, Serialize, schemars::JsonSchema)]
#[schemars(inline)]
pub struct Status {
    pub namespace: String,
    /// Files or documents.
    pub documents: u64,
    /// Parts of them that can be found.
    pub chunks: u64,
    /// Size on disk, or of the texts.
    pub bytes: u64,
    pub segments: u64,
    /// Whether all files have been indexed at least once.
    pub complete: bool,
    /// Whether changes are seen as they happen; otherwise a search looks at all files.
    pub watched: bool,
    /// Why changes are not watched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_watched: Option<String>,
    pub model: String,
    pub dimensions: u64,
}

impl Tool for IndexStatus {
    const SPEC: Spec = Spec {
        title: "Show the search index",
        description: "Shows which files and namespaces are indexed for search, how many parts they have, and whether \
                      changes are seen as they happen. Use it when a search does not find what should be there.",
        pace: Pace::Quick,
        spellings: &[
            Spelling { dialect: "mcp", name: "index_status" },
            Spelling { dialect: "mira", name: "index/status" },
        ],
        ..spec("index_status", Effect::Reads)
    };
    type Args = Args;
    type Output = WithText<Output>;

    async fn call(&self, args: Args, _context: &Context) -> Result<WithText<Output>> {
        let namespaces = self.0.status(args.namespace.as_deref()).await?;
        Ok(Output { namespaces }.with_text())
    }
}

impl SearchTools {
    /// The state of roots and of namespaces; of all without a name.
    pub(super) async fn status(&self, namespace: Option<&str>) -> Result<Vec<Status>> {
        let roots: Vec<_> =
            self.roots(namespace).unwrap_or_default().into_iter().map(|root| root.index.clone()).collect();
        let is_root = namespace.is_some() && !roots.is_empty();
        let of_roots = move || roots.iter().map(|root| Status::of_root(root)).collect::<Result<Vec<_>>>();
        let mut all = blocking(of_roots).await?;
        if !is_root {
            all.extend(self.namespace_status(namespace).await?);
        }
        Ok(all)
    }

    /// The state of namespaces of the store; of all without a name.
    async fn namespace_status(&self, name: Option<&str>) -> Result<Vec<Status>> {
        let namespaces = self.namespaces();
        let found = match name {
            Some(name) => vec![namespaces.find(name).await?],
            None => namespaces.all().await?,
        };
        let embedder = namespaces.embedder()?;
        let status = |namespace: SearchNamespace| Status {
            namespace: namespace.name,
            documents: namespace.documents,
            chunks: namespace.chunks,
            bytes: namespace.bytes,
            segments: 0,
            complete: true,
            watched: true,
            not_watched: None,
            model: embedder.id().to_owned(),
            dimensions: embedder.dimensions() as u64,
        };
        Ok(found.into_iter().map(status).collect())
    }
}

impl Status {
    /// The state of a root's index as it is, without looking at the files.
    pub(super) fn of_root(root: &RootIndex) -> Result<Self> {
        let snapshot = root.without_refresh()?;
        let embedder = root.embedder.get()?;
        let watching = root.watching();
        let searched = |(_, document): &(u32, mainstay_search::segment::DocumentRecord)| document.chunks > 0;
        // Files that are left out are known too, and are none that a search could find.
        let documents: usize = snapshot.parts.iter().map(|part| part.documents().filter(searched).count()).sum();
        Ok(Self {
            namespace: root.name.clone(),
            documents: documents as u64,
            chunks: snapshot.chunks(),
            bytes: snapshot.bytes(),
            segments: snapshot.segments() as u64,
            complete: snapshot.is_complete(),
            watched: watching == WatchStatus::Yes,
            not_watched: match watching {
                WatchStatus::No(reason) => Some(reason),
                WatchStatus::Yes | WatchStatus::NotYet => None,
            },
            model: embedder.id().to_owned(),
            dimensions: embedder.dimensions() as u64,
        })
    }
}

impl Output {
    pub(super) fn with_text(self) -> WithText<Self> {
        let mut text = String::new();
        for Status { namespace, documents, chunks, bytes, complete, watched, model, not_watched, .. } in
            &self.namespaces
        {
            let state = match (complete, watched) {
                (false, _) => "not complete",
                (true, true) => "watched",
                (true, false) => "up to date at each search",
            };
            let size = bytes.div_ceil(1024);
            let _ = write!(text, "{namespace}: {documents} documents, {chunks} chunks, {size} KiB, {state}, {model}");
            if let Some(reason) = not_watched {
                let _ = write!(text, " (not watched: {reason})");
            }
            text.push('\n');
        }
        if self.namespaces.is_empty() {
            text.push_str("Nothing is indexed.\n");
        }
        WithText { value: self, text }
    }
}
