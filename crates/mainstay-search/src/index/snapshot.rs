//! The index at one time. A search works on one snapshot from its beginning to its end.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use super::directory::{IndexDirectory, IndexError};
use super::manifest::{Entry, Manifest};
use crate::document::Prepared;
use crate::document::path::{PathFlags, version};
use crate::segment::{DocumentRecord, Segment, SegmentBuilder, Versions};
use crate::vectors::IdSet;

/// A segment, and which of its documents are gone.
#[derive(Clone)]
pub struct Part {
    pub segment: Segment,
    pub(super) entry: Entry,
    /// One bit for each document.
    deleted: Vec<u64>,
    live: OnceLock<(IdSet, IdSet)>,
}

/// Where a document is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DocumentPlace {
    /// The index into [`Snapshot::parts`]; of use with the same snapshot only.
    pub part: usize,
    pub document: u32,
}

/// All parts of an index.
pub struct Snapshot {
    pub(super) manifest: Manifest,
    pub parts: Vec<Part>,
    /// The documents that are not gone, by their paths. Only updates need it.
    paths: OnceLock<HashMap<Box<str>, DocumentPlace>>,
    /// Of each directory that has directories `v1`, `v2`, …, the highest number.
    latest_versions: OnceLock<HashMap<Box<str>, u32>>,
}

impl Part {
    fn new(segment: Segment, entry: Entry) -> Self {
        let words = usize::try_from(segment.documents()).unwrap_or(0).div_ceil(64);
        let mut deleted = vec![0; words];
        for document in &entry.deleted {
            if let Some(word) = deleted.get_mut(usize::try_from(document / 64).unwrap_or(usize::MAX)) {
                *word |= 1 << (document % 64);
            }
        }
        Self { segment, entry, deleted, live: OnceLock::new() }
    }

    /// The name of its file.
    pub fn name(&self) -> &str {
        &self.entry.file
    }

    /// The chunks and documents that are not gone; none if all of them are there. Computed once for a snapshot, because each
    /// search needs it.
    pub fn live(&self) -> Option<&(IdSet, IdSet)> {
        if self.entry.deleted.is_empty() {
            return None;
        }
        Some(self.live.get_or_init(|| {
            let mut chunks = IdSet::below(self.segment.chunks());
            let mut documents = IdSet::below(self.segment.documents());
            for id in &self.entry.deleted {
                documents.remove(*id);
                let Some(record) = self.segment.document(*id) else { continue };
                let end = record.first_chunk.saturating_add(record.chunks).min(self.segment.chunks());
                (record.first_chunk..end).for_each(|chunk| chunks.remove(chunk));
            }
            (chunks, documents)
        }))
    }

    /// Whether a document is gone. An id that the segment does not have counts as gone.
    pub fn is_deleted(&self, document: u32) -> bool {
        let word = self.deleted.get(usize::try_from(document / 64).unwrap_or(usize::MAX));
        word.is_none_or(|word| word & (1 << (document % 64)) != 0)
    }

    /// The documents that are not gone.
    pub fn documents(&self) -> impl Iterator<Item = (u32, DocumentRecord)> + '_ {
        let all = (0..self.segment.documents()).filter(|id| !self.is_deleted(*id));
        all.filter_map(|id| Some((id, self.segment.document(id)?)))
    }
}

impl Snapshot {
    /// A snapshot of documents in memory, such as those that a database has found: one segment that is in no file. Of two
    /// documents with one path, the later counts, as in an index. Fails where a document was prepared with another
    /// embedder than that of the versions, as far as its dimensions tell.
    pub fn in_memory(documents: &[Prepared], versions: &Versions) -> Result<Self, IndexError> {
        let mut builder = SegmentBuilder::new(versions.clone());
        let mut latest: HashMap<&str, u32> = HashMap::with_capacity(documents.len());
        let mut deleted = Vec::new();
        for (id, document) in (0..).zip(documents) {
            document.add_to(&mut builder)?;
            deleted.extend(latest.insert(&document.path, id));
        }
        let mut manifest = Manifest { complete: true, ..Manifest::default() };
        let mut parts = Vec::new();
        if !builder.is_empty() {
            let mut bytes = Vec::with_capacity(builder.memory());
            builder.write(&mut bytes)?;
            let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
            let entry = Entry { file: String::new(), bytes: length, deleted };
            parts.push(Part::new(Segment::open(Arc::new(bytes), versions)?, entry.clone()));
            manifest.segments.push(entry);
        }
        Ok(Self { manifest, parts, paths: OnceLock::new(), latest_versions: OnceLock::new() })
    }

    /// Opens all segments of a manifest. Those up to `verified_bytes` in all are compared with their checksums.
    pub(super) fn open(
        directory: &IndexDirectory,
        manifest: Manifest,
        versions: &Versions,
        verified_bytes: u64,
    ) -> Result<Self, IndexError> {
        let mut left = verified_bytes;
        let mut parts = Vec::with_capacity(manifest.segments.len());
        for entry in &manifest.segments {
            let segment = Segment::open(directory.map(entry)?, versions)?;
            if let Some(rest) = left.checked_sub(entry.bytes) {
                segment.verify()?;
                left = rest;
            }
            parts.push(Part::new(segment, entry.clone()));
        }
        Ok(Self { manifest, parts, paths: OnceLock::new(), latest_versions: OnceLock::new() })
    }

    /// The same as another one but for the manifest: segments that both have are not opened again.
    pub(super) fn updated(
        &self,
        directory: &IndexDirectory,
        manifest: Manifest,
        versions: &Versions,
    ) -> Result<Self, IndexError> {
        let mut parts = Vec::with_capacity(manifest.segments.len());
        for entry in &manifest.segments {
            // Names of segments are never used twice, so the same name is the same content.
            let same = self.parts.iter().find(|part| part.entry.file == entry.file);
            let segment = match same {
                Some(part) => part.segment.clone(),
                None => Segment::open(directory.map(entry)?, versions)?,
            };
            parts.push(Part::new(segment, entry.clone()));
        }
        Ok(Self { manifest, parts, paths: OnceLock::new(), latest_versions: OnceLock::new() })
    }

    /// Several indexes as one, for a search over all of them. The parts of each follow those of the one before it.
    pub fn joined(snapshots: &[Arc<Self>]) -> Self {
        let parts = snapshots.iter().flat_map(|snapshot| snapshot.parts.iter().cloned()).collect();
        let manifest = Manifest::default();
        Self { manifest, parts, paths: OnceLock::new(), latest_versions: OnceLock::new() }
    }

    /// Grows with each change, by this process or another.
    pub fn generation(&self) -> u64 {
        self.manifest.generation
    }

    /// Up to where a source of changes has been followed; 0 at the beginning.
    pub fn position(&self) -> i64 {
        self.manifest.position
    }

    /// Whether the whole workspace has been indexed at least once.
    pub fn is_complete(&self) -> bool {
        self.manifest.complete
    }

    /// How many bytes the segments have.
    pub fn bytes(&self) -> u64 {
        self.manifest.segments.iter().map(|entry| entry.bytes).sum()
    }

    pub fn documents(&self) -> usize {
        self.parts.iter().map(|part| part.documents().count()).sum()
    }

    pub fn chunks(&self) -> u64 {
        let of = |part: &Part| part.documents().map(|(_, document)| u64::from(document.chunks)).sum::<u64>();
        self.parts.iter().map(of).sum()
    }

    /// The document with a path.
    pub fn find(&self, path: &str) -> Option<DocumentPlace> {
        self.paths().get(path).copied()
    }

    /// The documents with these paths. Does not compute [`Snapshot::paths`], which takes longer than one pass, and each
    /// change of the index makes a new snapshot.
    pub(super) fn find_all(&self, wanted: &HashSet<&str>) -> Vec<DocumentPlace> {
        if let Some(paths) = self.paths.get() {
            return wanted.iter().filter_map(|path| paths.get(*path).copied()).collect();
        }
        if wanted.is_empty() {
            return Vec::new();
        }
        let of = |(part, of): (usize, &'_ Part)| {
            let is_wanted = |(_, record): &(u32, DocumentRecord)| wanted.contains(of.segment.path(record));
            let found = of.documents().filter(is_wanted);
            found.map(|(document, _)| DocumentPlace { part, document }).collect::<Vec<_>>()
        };
        self.parts.iter().enumerate().flat_map(of).collect()
    }

    /// Where each document is, by path. Computed when it is first asked for, then kept with the snapshot.
    pub fn paths(&self) -> &HashMap<Box<str>, DocumentPlace> {
        self.paths.get_or_init(|| {
            let mut paths = HashMap::new();
            for (part, of) in self.parts.iter().enumerate() {
                for (document, record) in of.documents() {
                    paths.insert(of.segment.path(&record).into(), DocumentPlace { part, document });
                }
            }
            paths
        })
    }

    /// Whether a path has a directory `v1` where there is a `v2` beside it: the first such directory from the end.
    pub fn old_version<'p>(&self, path: &'p str) -> Option<&'p str> {
        let latest = self.latest_versions.get_or_init(|| self.find_latest_versions());
        if latest.is_empty() {
            return None;
        }
        let is_old = |(parent, name, number): &(&str, &str, u32)| {
            !name.is_empty() && latest.get(*parent).is_some_and(|latest| number < latest)
        };
        versioned_directories(path).filter(is_old).last().map(|(_, name, _)| name)
    }

    fn find_latest_versions(&self) -> HashMap<Box<str>, u32> {
        let mut latest: HashMap<Box<str>, u32> = HashMap::new();
        for part in &self.parts {
            for (_, record) in part.documents() {
                if !PathFlags::from_bits(record.tags).contains(PathFlags::VERSIONED) {
                    continue;
                }
                for (parent, _, number) in versioned_directories(part.segment.path(&record)) {
                    let known = latest.entry(parent.into()).or_insert(0);
                    *known = number.max(*known);
                }
            }
        }
        latest
    }

    pub fn record(&self, place: DocumentPlace) -> Option<DocumentRecord> {
        self.parts.get(place.part)?.segment.document(place.document)
    }
}

/// The directories `v1`, `v2`, … of a path: what is before them, their names, and their numbers.
fn versioned_directories(path: &str) -> impl Iterator<Item = (&str, &str, u32)> {
    path.match_indices('/').filter_map(move |(end, _)| {
        let before = path.get(..end)?;
        let (parent, name) = before.rsplit_once('/').unwrap_or(("", before));
        Some((parent, name, version(name)?))
    })
}
