//! Brings files into an index: compares them with what is known, reads those that differ, and writes them in batches.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use mainstay_core::{Error, Result};
use mainstay_sandbox::{Dir, EntryKind, Metadata};
use mainstay_search::chunk::{NotChunked, is_generated};
use mainstay_search::document::{self, NotPrepared, Prepared};
use mainstay_search::embedding::Embedder;
use mainstay_search::index::{DocumentPlace, Index, Snapshot, Update};
use mainstay_search::segment::{DocumentRecord, SegmentBuilder};
use parking_lot::Mutex;

use super::failure::{index_failure, provider_failure};
use crate::progress::Progress;
use crate::search::settings::SearchSettings;
use crate::walk::{Collected, StopSignal, Visitor, WalkEntry};

/// Stored in the place of a time of change, if the file had changed so shortly before that another change might not show
/// in it. Such a file is compared by its content.
const UNSETTLED: i64 = i64::MIN;

/// One change of an index, made of many files.
pub(super) struct Indexer<'a> {
    pub(super) index: &'a Index,
    pub(super) embedder: &'a dyn Embedder,
    pub(super) settings: &'a SearchSettings,
    /// The index as it was before.
    base: Arc<Snapshot>,
    /// Of a change, the documents that it may concern, by path: the paths of a large index take longer to collect than a file
    /// to index. None: all of them.
    concerned: Option<HashMap<String, DocumentPlace>>,
    /// Which documents of it are still there: for each segment, one for each document.
    seen: Vec<Vec<AtomicBool>>,
    batch: Mutex<Batch>,
    /// The first failure that ends all of it.
    failure: Mutex<Option<Error>>,
    /// Counted in files.
    progress: &'a Progress,
    /// Files whose content was read.
    pub(super) read: AtomicU64,
}

/// Files that are ready to be written.
struct Batch {
    builder: SegmentBuilder,
    replaced: Vec<String>,
}

impl<'a> Indexer<'a> {
    pub(super) fn new(
        index: &'a Index,
        embedder: &'a dyn Embedder,
        settings: &'a SearchSettings,
        base: Arc<Snapshot>,
        progress: &'a Progress,
    ) -> Self {
        let unseen = |documents: u32| (0..documents).map(|_| AtomicBool::new(false)).collect();
        let seen = base.parts.iter().map(|part| unseen(part.segment.documents())).collect();
        let batch = Batch { builder: SegmentBuilder::new(index.versions().clone()), replaced: Vec::new() };
        let (batch, failure) = (Mutex::new(batch), Mutex::new(None));
        let (concerned, read) = (None, AtomicU64::new(0));
        Self { index, embedder, settings, base, concerned, seen, batch, failure, progress, read }
    }

    /// The same for a change that concerns only these documents.
    pub(super) fn concerning(self, is_concerned: impl Fn(&str) -> bool) -> Self {
        let mut concerned = HashMap::new();
        for (at, part) in self.base.parts.iter().enumerate() {
            for (document, record) in part.documents() {
                let path = part.segment.path(&record);
                if is_concerned(path) {
                    concerned.insert(path.to_owned(), DocumentPlace { part: at, document });
                }
            }
        }
        Self { concerned: Some(concerned), ..self }
    }

    fn find(&self, path: &str) -> Option<DocumentPlace> {
        match &self.concerned {
            Some(concerned) => concerned.get(path).copied(),
            None => self.base.find(path),
        }
    }

    /// Indexes a file, if it differs from what is known of it. `path` is its path from the root.
    pub(super) fn file(&self, directory: &Dir, name: &OsStr, path: &str, wanted: &dyn Fn() -> bool) {
        let known = self.find(path).and_then(|place| Some((place, self.base.record(place)?)));
        let entry = directory.metadata(name).ok().filter(|metadata| metadata.kind == EntryKind::File);
        if let (Some(entry), Some((place, record))) = (&entry, &known)
            && record.modified_ns != UNSETTLED
            && (record.modified_ns, record.size) == (entry.changed_ns(), entry.size)
        {
            return self.mark_seen(*place);
        }
        // What cannot be opened counts as removed: nobody could read what is found in it.
        let Some(file) = entry.and_then(|_| directory.file(name).ok()) else { return };
        let metadata = *file.metadata();
        let content = if metadata.size > self.settings.file_bytes {
            None
        } else {
            self.read.fetch_add(1, Ordering::Relaxed);
            match file.read_whole(self.settings.file_bytes) {
                Ok(content) => content,
                Err(_) => return,
            }
        };
        let etag = etag(content.as_deref().unwrap_or_default());
        if let Some((place, record)) = &known {
            self.mark_seen(*place);
            if is_same_content(record, &metadata, etag) {
                return;
            }
        }
        match self.prepare(path, content.as_deref(), &metadata, etag, wanted) {
            Ok(prepared) => self.add(&prepared),
            // The whole is being stopped.
            Err(NotPrepared::NotChunked(NotChunked::Cancelled)) => {}
            Err(NotPrepared::Embedding(error)) => self.fail(provider_failure(&error)),
            Err(error) => self.fail(Error::internal(error)),
        }
    }

    /// What the index stores of a file. Of one that is not searched, only enough to know it again without reading it.
    fn prepare(
        &self,
        path: &str,
        content: Option<&[u8]>,
        metadata: &Metadata,
        etag: [u8; 16],
        wanted: &dyn Fn() -> bool,
    ) -> Result<Prepared, NotPrepared> {
        let changed = if metadata.settled() { metadata.changed_ns() } else { UNSETTLED };
        let prepare =
            |content: &[u8]| document::prepare(path, content, metadata.size, changed, etag, self.embedder, wanted);
        // What a program has written can be written again; search is about what people have.
        let content = content.filter(|content| !is_generated(path, content));
        let prepared = match content.map(prepare) {
            None | Some(Err(NotPrepared::NotChunked(NotChunked::Binary))) => None,
            Some(other) => Some(other?),
        };
        if let Some(prepared) = prepared {
            return Ok(prepared);
        }
        let empty = document::prepare(path, b"", metadata.size, changed, etag, self.embedder, wanted)?;
        // Without terms: nothing of it could be shown, so its path must not be found either.
        Ok(Prepared { terms: Vec::new(), ..empty })
    }

    /// Adds a document to the batch, which is written when it is full.
    fn add(&self, prepared: &Prepared) {
        let mut batch = self.batch.lock();
        if let Err(error) = prepared.add_to(&mut batch.builder) {
            return self.fail(Error::internal(error));
        }
        batch.replaced.push(prepared.path.clone());
        let is_full = batch.builder.memory() as u64 >= self.settings.memory_bytes;
        if !is_full {
            return;
        }
        let empty = Batch { builder: SegmentBuilder::new(self.index.versions().clone()), replaced: Vec::new() };
        let full = std::mem::replace(&mut *batch, empty);
        // The other threads go on with the next batch meanwhile.
        drop(batch);
        let update = Update { added: Some(full.builder), replaced: full.replaced, ..Update::default() };
        if let Err(error) = self.index.apply(update) {
            self.fail(index_failure(&error));
        }
    }

    fn seen(&self, place: DocumentPlace) -> Option<&AtomicBool> {
        self.seen.get(place.part)?.get(usize::try_from(place.document).ok()?)
    }

    fn is_seen(&self, place: DocumentPlace) -> bool {
        self.seen(place).is_some_and(|seen| seen.load(Ordering::Relaxed))
    }

    fn mark_seen(&self, place: DocumentPlace) {
        if let Some(seen) = self.seen(place) {
            seen.store(true, Ordering::Relaxed);
        }
    }

    fn fail(&self, error: Error) {
        self.failure.lock().get_or_insert(error);
        self.progress.cancel();
    }

    /// Fails with what has ended the work, if something has.
    pub(super) fn check(&self) -> Result<()> {
        match self.failure.lock().take() {
            Some(error) => Err(error),
            None => self.progress.check(),
        }
    }

    /// The documents that were not seen, of those that the change concerns.
    pub(super) fn unseen(&self) -> Vec<String> {
        if let Some(concerned) = &self.concerned {
            let unseen = concerned.iter().filter(|(_, place)| !self.is_seen(**place));
            return unseen.map(|(path, _)| path.clone()).collect();
        }
        let mut unseen = Vec::new();
        for (part, of) in self.base.parts.iter().enumerate() {
            for (document, record) in of.documents() {
                if !self.is_seen(DocumentPlace { part, document }) {
                    unseen.push(of.segment.path(&record).to_owned());
                }
            }
        }
        unseen
    }

    /// Writes what is left, and removes documents. An update that changes nothing is not made.
    pub(super) fn finish(self, removed: Vec<String>, completes: bool) -> Result<Arc<Snapshot>> {
        self.check()?;
        let Batch { builder, replaced } = self.batch.into_inner();
        let completes = completes && !self.base.is_complete();
        if builder.is_empty() && removed.is_empty() && !completes {
            return Ok(self.index.snapshot());
        }
        let update = Update { added: Some(builder), replaced, removed, completes, position: None };
        self.index.apply(update).map_err(|error| index_failure(&error))
    }
}

/// Indexes all files of a walk.
pub(super) struct Files<'a> {
    pub(super) indexer: &'a Indexer<'a>,
    /// What the paths from the root begin with.
    pub(super) prefix: String,
}

impl Visitor for Files<'_> {
    type Worker = ();
    type Item = ();
    const PARALLEL_ENTRIES: bool = true;

    fn worker(&self) {}

    fn visit(&self, _worker: &mut (), found: &WalkEntry<'_>, stop: &StopSignal, _all: &mut Collected<()>) {
        // A name that is no text could not be given to any tool.
        if let Some(path) = found.path().to_str() {
            let path = format!("{}{path}", self.prefix);
            self.indexer.file(found.directory, &found.entry.name, &path, &|| !stop.is_set());
        }
        self.indexer.progress.add(1);
    }
}

/// As the tools for files compute it, as bytes.
fn etag(content: &[u8]) -> [u8; 16] {
    blake3::hash(content).as_bytes().first_chunk::<16>().copied().unwrap_or_default()
}

/// Whether a file was only touched, or could not be told apart by its time. One whose time has settled since is stored
/// again with it, so that it is not read every time.
fn is_same_content(record: &DocumentRecord, metadata: &Metadata, etag: [u8; 16]) -> bool {
    record.etag == etag && record.size == metadata.size && record.modified_ns == UNSETTLED && !metadata.settled()
}
