//! An index of a namespace in the data directory, which follows the changes of the store.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use mainstay_core::{Error, Result};
use mainstay_search::document::versions;
use mainstay_search::index::{BuildLock, Index, IndexDirectory, Snapshot, Update};
use mainstay_search::segment::SegmentBuilder;
use mainstay_store::{SearchChange, SearchChanges, Store};

use super::super::embedders::LazyEmbedder;
use super::super::workspace::{index_failure, map_segment};
use super::prepared::restored;
use super::within_limit;
use crate::progress::blocking;

/// How many changes are read from the store at a time.
const PAGE: u32 = 500;

/// How often whoever waits for another process looks again.
const WAIT_STEP: Duration = Duration::from_millis(20);

/// How long it waits. Following changes takes as long as analysing their documents.
const WAIT_LIMIT: Duration = Duration::from_mins(1);

/// The index of a namespace. Processes that share a data directory share it.
pub(super) struct NamespaceIndex {
    namespace: String,
    directory: PathBuf,
    embedder: LazyEmbedder,
    memory_bytes: u64,
    index: OnceLock<Index>,
    /// Held while changes are followed, so that a process does it once at a time.
    following: tokio::sync::Mutex<()>,
}

impl NamespaceIndex {
    /// Nothing is opened yet.
    pub(super) fn new(
        namespace: &str,
        created_ms: i64,
        data: &Path,
        embedder: LazyEmbedder,
        memory_bytes: u64,
    ) -> Self {
        let key = blake3::hash(namespace.as_bytes()).to_hex();
        let directory = data.join(format!("namespace-{}", &key[..32])).join(created_ms.to_string());
        let following = tokio::sync::Mutex::default();
        Self { namespace: namespace.to_owned(), directory, embedder, memory_bytes, index: OnceLock::new(), following }
    }

    /// The index with all changes of the store up to now.
    pub(super) async fn up_to_date(self: &Arc<Self>, store: &Store) -> Result<Arc<Snapshot>> {
        let _following = self.following.lock().await;
        let opened = self.clone();
        let mut snapshot = blocking(move || opened.refreshed()).await?;
        let mut lock: Option<BuildLock> = None;
        loop {
            let changes = store.search().changes(&self.namespace, snapshot.position(), PAGE);
            match within_limit(changes).await? {
                SearchChanges::NoNamespace => {
                    return Err(Error::field("namespace", format!("The namespace {:?} was deleted.", self.namespace)));
                }
                SearchChanges::Restart => snapshot = self.cleared().await?,
                SearchChanges::Page { changes, .. } if changes.is_empty() => return Ok(snapshot),
                // Another process that follows the same changes may have come further meanwhile.
                SearchChanges::Page { .. } if lock.is_none() => {
                    let index = self.clone();
                    let held = blocking(move || index.lock()).await?;
                    lock = Some(held);
                    let index = self.clone();
                    snapshot = blocking(move || index.refreshed()).await?;
                }
                SearchChanges::Page { changes, .. } => {
                    let index = self.clone();
                    snapshot = blocking(move || index.apply(&changes)).await?;
                }
            }
        }
    }

    /// Forgets everything; the next search reads all documents.
    pub(super) async fn clear(self: &Arc<Self>) -> Result<()> {
        let _following = self.following.lock().await;
        self.cleared().await.map(drop)
    }

    async fn cleared(self: &Arc<Self>) -> Result<Arc<Snapshot>> {
        let index = self.clone();
        blocking(move || index.index()?.clear().map_err(|error| index_failure(&error))).await
    }

    fn refreshed(&self) -> Result<Arc<Snapshot>> {
        self.index()?.refreshed().map_err(|error| index_failure(&error))
    }

    fn index(&self) -> Result<&Index> {
        if let Some(index) = self.index.get() {
            return Ok(index);
        }
        self.remove_older();
        let directory = IndexDirectory::open(self.directory.clone(), Arc::new(map_segment));
        let directory = directory.map_err(|error| index_failure(&error.into()))?;
        let index = Index::open(directory, versions(&**self.embedder.get()?)).map_err(|error| index_failure(&error))?;
        Ok(self.index.get_or_init(|| index))
    }

    /// Removes the indexes of namespaces that had this name before. What cannot be removed only takes space.
    fn remove_older(&self) {
        let entries = self.directory.parent().and_then(|above| std::fs::read_dir(above).ok());
        for entry in entries.into_iter().flatten().flatten().filter(|entry| entry.path() != self.directory) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }

    fn lock(&self) -> Result<BuildLock> {
        let began = std::time::Instant::now();
        loop {
            if let Some(lock) = self.index()?.try_build_lock().map_err(|error| index_failure(&error))? {
                return Ok(lock);
            }
            if began.elapsed() > WAIT_LIMIT {
                return Err(Error::vector_store_unavailable("Another process is still indexing this namespace."));
            }
            std::thread::sleep(WAIT_STEP);
        }
    }

    /// Brings a page of changes into the index, in one step with the position up to which it is followed.
    fn apply(&self, changes: &[SearchChange]) -> Result<Arc<Snapshot>> {
        let (index, embedder) = (self.index()?, self.embedder.get()?);
        let mut builder = SegmentBuilder::new(index.versions().clone());
        let mut update = Update::default();
        for change in changes {
            match &change.document {
                Some(document) => {
                    restored(document, &**embedder)?.add_to(&mut builder).map_err(Error::internal)?;
                    update.replaced.push(change.id.clone());
                }
                None => update.removed.push(change.id.clone()),
            }
            update.position = Some(change.version);
            // The rest is read again.
            if builder.memory() as u64 >= self.memory_bytes {
                break;
            }
        }
        update.added = Some(builder);
        let snapshot = index.apply(update).map_err(|error| index_failure(&error))?;
        // Each page is a segment; a search looks at all of them.
        while Index::needs_merge(&index.snapshot()) && index.merge_some().map_err(|error| index_failure(&error))? {}
        Ok(if index.snapshot().generation() > snapshot.generation() { index.snapshot() } else { snapshot })
    }
}
