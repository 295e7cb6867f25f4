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
use mainstay_search::ranking::Request;
use mainstay_store::{
    DeleteOutcome, NewSearchDocument, PutOutcome, SearchLimit, SearchLimits, SearchNamespace, Store,
    StoredSearchDocument, WriteMode,
};
use parking_lot::Mutex;

use super::embedders::LazyEmbedder;
use super::matches::{Match, Matches, snippet};
use super::search_tools::SearchTools;
use super::settings::SearchSettings;
use super::status::Status;
use super::vector_search::{Args, ranked};
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
struct Searched {
    snapshot: Arc<Snapshot>,
    /// Of all documents, if only some are in the snapshot.
    statistics: Option<Statistics>,
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

    async fn all(&self) -> Result<Vec<SearchNamespace>> {
        within_limit(self.store.search().namespaces()).await
    }

    /// The documents to rank for a search.
    async fn searched(&self, namespace: &SearchNamespace, args: &Args) -> Result<Searched> {
        // The database would return the best of all documents, of which a filter may leave nothing.
        if args.filter.is_empty() {
            let embedder = self.embedder.get()?.clone();
            if let Some(found) = candidates::find(&self.store, embedder, &namespace.name, args).await? {
                return Ok(found);
            }
        }
        let index = self.index(namespace);
        let snapshot = index.up_to_date(&self.store).await?;
        Ok(Searched { snapshot, statistics: None })
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

impl SearchTools {
    /// Searches a namespace of the store.
    pub(super) async fn search_namespace(&self, args: Args) -> Result<Matches> {
        let namespaces = self.namespaces();
        let name = args.namespace.clone().unwrap_or_default();
        let found = namespaces.find(&name).await?;
        // In an index, documents have their ids for paths.
        let only = match args.filter.path_prefix.as_deref().filter(|prefix| !prefix.is_empty()) {
            Some(prefix) => Some(within_limit(namespaces.store.search().ids_with_prefix(&name, prefix)).await?),
            None => None,
        };
        // A model behind HTTP is asked on a thread that may block, and once for each search.
        let (args, embed_time) = with_embedding(namespaces.embedder.get()?.clone(), args).await?;
        let searched = namespaces.searched(&found, &args).await?;
        let embedder = namespaces.embedder.get()?.clone();
        let snapshot = searched.snapshot.clone();
        let (hits, mut usage, args) = blocking(move || {
            let filter = args.filter.of_namespace(only);
            let request = Request { filter, statistics: searched.statistics.as_ref(), ..args.request() };
            let (hits, usage) = ranked(&snapshot, &*embedder, &request)?;
            Ok((hits, usage, args))
        })
        .await?;
        usage.embed_time_ms = embed_time.or(usage.embed_time_ms);
        let ids: Vec<String> = hits.iter().map(|hit| hit.path.clone()).collect();
        let documents = within_limit(namespaces.store.search().documents(&name, &ids)).await?;
        let documents: HashMap<String, StoredSearchDocument> =
            documents.into_iter().map(|document| (document.id.clone(), document)).collect();
        let mut matches = Vec::with_capacity(hits.len());
        for hit in hits {
            // Deleted since it was found.
            let Some(document) = documents.get(&hit.path) else { continue };
            let part = searched.snapshot.parts.get(hit.place.0).filter(|_| args.include_vectors);
            let vector = part.and_then(|part| part.segment.unit_vector(hit.place.1));
            let text = Some(document.text.as_bytes()).filter(|_| args.snippet_lines > 0);
            let text = text.and_then(|text| snippet(text, hit.start_byte, hit.end_byte, args.snippet_lines));
            let id = match document.chunks {
                0 | 1 => document.id.clone(),
                _ => format!("{}:{}-{}", document.id, hit.first_line, hit.last_line),
            };
            let mut one = Match::of(hit, document.path.clone(), None);
            one.metadata.tags.extend(document.tags.iter().cloned());
            one.metadata.etag = Some(document.etag.clone());
            (one.id, one.metadata.snippet, one.vector) = (id, text, vector);
            matches.push(one);
        }
        Ok(Matches { matches, usage })
    }

    /// The state of namespaces of the store; of all without a name.
    pub(super) async fn namespace_status(&self, name: Option<&str>) -> Result<Vec<Status>> {
        let namespaces = self.namespaces();
        let found = match name {
            Some(name) => vec![namespaces.find(name).await?],
            None => namespaces.all().await?,
        };
        let embedder = namespaces.embedder.get()?;
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

    /// Brings the index of a namespace up to date, or makes it anew.
    pub(super) async fn refresh_namespace(&self, name: &str, rebuild: bool) -> Result<()> {
        let namespaces = self.namespaces();
        let index = namespaces.index(&namespaces.find(name).await?);
        if rebuild {
            index.clear().await?;
        }
        index.up_to_date(&namespaces.store).await.map(drop)
    }
}

/// The arguments with the query's vector, and how long the model took for it.
async fn with_embedding(embedder: Arc<dyn Embedder>, mut args: Args) -> Result<(Args, Option<u64>)> {
    let is_asked = args.embedding.is_none() && args.query.as_deref().is_some_and(|query| !query.trim().is_empty());
    if !is_asked {
        return Ok((args, None));
    }
    blocking(move || {
        let began = std::time::Instant::now();
        let mut vector = Vec::new();
        let query = args.query.as_deref().unwrap_or_default();
        let query =
            query.get(..query.floor_char_boundary(mainstay_search::ranking::MAX_QUERY_BYTES)).unwrap_or_default();
        let embedded = embedder.embed_query(query, &mut vector);
        embedded.map_err(|error| super::vector_search::search_failure(error.into()))?;
        args.embedding = Some(vector);
        let took = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        Ok((args, Some(took)))
    })
    .await
}

/// Runs an operation of the store; one that fails or takes too long means that the store is away.
async fn within_limit<T>(operation: impl Future<Output = mainstay_store::Result<T>>) -> Result<T> {
    let away = |detail: String| {
        let line = "The store with the documents of namespaces does not answer, so nothing was done; try again later. \
                    Searches of the workspace still work.";
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
