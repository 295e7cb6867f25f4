//! Documents that agents put into namespaces. They are in the store, which replicas share; search finds them with the same
//! ranking as files.
//!
//! PostgreSQL with pgvector finds candidates itself, and they are ranked in memory ([`candidates`]). Otherwise each server
//! keeps an index of the documents in its data directory, and follows the changes of the store before each search
//! ([`NamespaceIndex`]).

mod candidates;
mod local_index;
mod prepared;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use mainstay_core::{Clock, Error, Result};
use mainstay_search::embedding::Embedder;
use mainstay_search::index::{Snapshot, Statistics};
use mainstay_store::{
    DeleteOutcome, NewSearchDocument, PutOutcome, SearchLimit, SearchLimits, SearchNamespace, Store,
    StoredSearchDocument, WriteMode,
};
use parking_lot::Mutex;

use super::embedders::LazyEmbedder;
use super::query::Args;
use super::settings::SearchSettings;
use crate::progress::blocking;
use local_index::NamespaceIndex;
pub(super) use prepared::{NewDocument, prepare};

/// The longest that the store may take to answer: a database that hangs must not hold a search for the time of a call.
const STORE_LIMIT: Duration = Duration::from_secs(10);

/// The most namespaces whose indexes are open.
const MAX_OPEN: usize = 64;

/// All namespaces.
pub(super) struct Namespaces {
    store: Store,
    embedder: LazyEmbedder,
    limits: SearchLimits,
    data: PathBuf,
    memory_bytes: u64,
    open: Mutex<HashMap<(String, i64), Arc<NamespaceIndex>>>,
}

/// What is searched.
pub(super) struct NamespaceSnapshot {
    pub(super) snapshot: Arc<Snapshot>,
    /// Of all documents, if only some are in the snapshot.
    pub(super) statistics: Option<Statistics>,
}

impl Namespaces {
    pub(super) fn new(store: &Store, embedder: &LazyEmbedder, settings: &SearchSettings, data: &Path) -> Self {
        let limits = SearchLimits {
            documents: settings.namespace_documents,
            bytes: settings.namespace_bytes,
            namespaces: settings.namespaces,
        };
        let (store, embedder, data) = (store.clone(), embedder.clone(), data.to_owned());
        Self { store, embedder, limits, data, memory_bytes: settings.memory_bytes, open: Mutex::default() }
    }

    /// Stores documents.
    pub(super) async fn put(
        &self,
        namespace: &str,
        documents: Vec<NewDocument>,
        clock: &dyn Clock,
        mode: WriteMode,
    ) -> Result<PutOutcome> {
        check_name(namespace)?;
        let embedder = self.embedder.get()?.clone();
        let prepare_all = move || documents.into_iter().map(|document| prepare(document, &*embedder)).collect();
        let documents: Vec<NewSearchDocument> = blocking(prepare_all).await?;
        let put = self.store.search().put(namespace, documents, self.limits, clock.now_ms(), mode);
        let outcome = within_limit(put).await?;
        if let PutOutcome::OverLimit { limit, most, needed } = &outcome {
            return Err(over_limit(*limit, *most, *needed));
        }
        Ok(outcome)
    }

    /// Deletes documents of a namespace that exists.
    pub(super) async fn delete(
        &self,
        namespace: &str,
        ids: Vec<String>,
        clock: &dyn Clock,
        mode: WriteMode,
    ) -> Result<DeleteOutcome> {
        self.find(namespace).await?;
        within_limit(self.store.search().delete(namespace, ids, clock.now_ms(), mode)).await
    }

    /// Deletes a namespace with all its documents.
    pub(super) async fn delete_all(&self, namespace: &str, mode: WriteMode) -> Result<SearchNamespace> {
        let found = self.find(namespace).await?;
        within_limit(self.store.search().delete_namespace(namespace, mode)).await?;
        Ok(found)
    }

    /// A namespace by its name; an error names those that exist.
    pub(super) async fn find(&self, name: &str) -> Result<SearchNamespace> {
        if let Some(found) = within_limit(self.store.search().namespace(name)).await? {
            return Ok(found);
        }
        let known: Vec<String> = self.all().await?.into_iter().map(|namespace| namespace.name).take(10).collect();
        let known =
            if known.is_empty() { "there is none yet; vector_upsert makes one".to_owned() } else { known.join(", ") };
        let shown: String = name.chars().take(80).collect();
        Err(Error::field("namespace", format!("There is no root and no namespace {shown:?}; namespaces: {known}.")))
    }

    /// The model with which documents are indexed.
    pub(super) fn embedder(&self) -> Result<&Arc<dyn Embedder>> {
        self.embedder.get()
    }

    /// Documents by their ids, in this order.
    pub(super) async fn documents(&self, namespace: &str, ids: &[String]) -> Result<Vec<StoredSearchDocument>> {
        within_limit(self.store.search().documents(namespace, ids)).await
    }

    /// The ids of documents whose paths begin with a text.
    pub(super) async fn ids_with_prefix(&self, namespace: &str, prefix: &str) -> Result<Vec<String>> {
        within_limit(self.store.search().ids_with_prefix(namespace, prefix)).await
    }

    /// Brings the index of a namespace up to date, or makes it anew.
    pub(super) async fn refresh(&self, name: &str, rebuild: bool) -> Result<()> {
        let index = self.index(&self.find(name).await?);
        if rebuild {
            index.clear().await?;
        }
        index.up_to_date(&self.store).await.map(drop)
    }

    pub(super) async fn all(&self) -> Result<Vec<SearchNamespace>> {
        within_limit(self.store.search().namespaces()).await
    }

    /// The documents to rank for a search.
    pub(super) async fn searched(&self, namespace: &SearchNamespace, args: &Args) -> Result<NamespaceSnapshot> {
        // The database would return the best of all documents, of which a filter may leave nothing.
        if args.filter.is_empty() {
            let embedder = self.embedder.get()?.clone();
            if let Some(found) = candidates::find(&self.store, embedder, &namespace.name, args).await? {
                return Ok(found);
            }
        }
        let index = self.index(namespace);
        let snapshot = index.up_to_date(&self.store).await?;
        Ok(NamespaceSnapshot { snapshot, statistics: None })
    }

    /// The index of a namespace. One that was deleted and made again, or is of another store, has another.
    fn index(&self, namespace: &SearchNamespace) -> Arc<NamespaceIndex> {
        let mut open = self.open.lock();
        let key = (namespace.name.clone(), namespace.created_ms);
        if open.len() >= MAX_OPEN && !open.contains_key(&key) {
            open.clear();
        }
        let new = || {
            let index = NamespaceIndex::new(&key.0, key.1, &self.data, self.embedder.clone(), self.memory_bytes);
            Arc::new(index)
        };
        open.entry(key.clone()).or_insert_with(new).clone()
    }
}

/// Runs an operation of the store; one that fails or takes too long means that the store is away.
async fn within_limit<T>(operation: impl Future<Output = mainstay_store::Result<T>>) -> Result<T> {
    let away = |detail: String| {
        let line = "The store with the documents of namespaces does not answer, so nothing was done; try again later.";
        Error::vector_store_unavailable(line).with_detail(detail)
    };
    match tokio::time::timeout(STORE_LIMIT, operation).await {
        Err(_elapsed) => Err(away(format!("no answer within {} s", STORE_LIMIT.as_secs()))),
        Ok(Ok(value)) => Ok(value),
        // What the caller can correct is told as it is.
        Ok(Err(error)) => {
            let told = Error::from(error.clone());
            Err(if told.kind == mainstay_core::Kind::Unavailable { away(error.to_string()) } else { told })
        }
    }
}

/// A namespace's name is one that cannot be taken for a path.
fn check_name(name: &str) -> Result<()> {
    const MAX: usize = 64;
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric();
    let is_valid = (1..=MAX).contains(&name.len())
        && name.bytes().next().is_some_and(is_letter)
        && name.bytes().all(|byte| is_letter(byte) || b"._-".contains(&byte));
    if is_valid {
        return Ok(());
    }
    let shown: String = name.chars().take(80).collect();
    Err(Error::field(
        "namespace",
        format!(
            "{shown:?} is no name of a namespace: use up to {MAX} letters, digits, '.', '_' and '-', first a letter or digit."
        ),
    ))
}

fn over_limit(limit: SearchLimit, most: u64, needed: u64) -> Error {
    let (what, setting) = match limit {
        SearchLimit::Documents => ("documents", "namespace_documents"),
        SearchLimit::Bytes => ("bytes", "namespace_bytes"),
        SearchLimit::Namespaces => ("namespaces", "namespaces"),
    };
    let line = format!(
        "There would be {needed} {what}, and search.{setting} allows {most}; delete some with vector_delete, or ask the \
         operator to raise it."
    );
    Error::new(mainstay_core::Kind::TooLarge, line)
}
