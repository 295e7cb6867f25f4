//! Changes of an index: documents are added and removed, and segments merged.

use std::collections::HashSet;
use std::io;
use std::sync::Arc;

use parking_lot::{Mutex, RwLock};

use super::directory::{BuildLock, IndexDirectory, IndexError, Locked, ManifestStamp};
use super::manifest::{Entry, Manifest};
use super::snapshot::Snapshot;
use crate::segment::{SegmentBuilder, Versions};

/// Segments of up to this many bytes in all are verified when an index is opened; reading more would keep the first search
/// waiting.
const VERIFIED_AT_ONCE: u64 = 64 << 20;

/// An index, shared by all who search it in this process.
pub struct Index {
    pub(super) directory: IndexDirectory,
    pub(super) versions: Versions,
    current: RwLock<Arc<Snapshot>>,
    /// Of the manifest that `current` was last compared with. A search looks at it instead of the manifest, which may name
    /// thousands of deleted documents.
    seen: Mutex<Option<ManifestStamp>>,
}

/// What changes in one step.
#[derive(Default)]
pub struct Update {
    /// The documents to add. One with the path of another takes its place.
    pub added: Option<SegmentBuilder>,
    /// Paths of documents to add, which take the place of older ones.
    pub replaced: Vec<String>,
    /// Paths of documents that are gone.
    pub removed: Vec<String>,
    /// The whole workspace is indexed with this.
    pub completes: bool,
    /// Up to where a source of changes is followed with this. Stored in the same step as the documents, so that no change is
    /// left out or made twice after a crash.
    pub position: Option<i64>,
}

impl Index {
    /// Opens an index. One that is damaged or of another version is emptied, and has to be built again.
    pub fn open(directory: IndexDirectory, versions: Versions) -> Result<Self, IndexError> {
        let current = match open_current(&directory, &versions) {
            Ok(snapshot) => Ok(snapshot),
            Err(_) => repaired(&directory, &versions),
        }?;
        Ok(Self { directory, versions, current: RwLock::new(Arc::new(current)), seen: Mutex::new(None) })
    }

    pub fn versions(&self) -> &Versions {
        &self.versions
    }

    /// The index as this process has last seen it.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.current.read().clone()
    }

    /// The index with what other processes have changed since.
    pub fn refreshed(&self) -> Result<Arc<Snapshot>, IndexError> {
        // Before the manifest is read: one that is replaced meanwhile is then read the next time.
        let stamp = self.directory.manifest_stamp();
        let current = self.snapshot();
        if stamp.is_some() && *self.seen.lock() == stamp {
            return Ok(current);
        }
        let manifest = self.directory.manifest()?;
        if manifest == current.manifest {
            *self.seen.lock() = stamp;
            return Ok(current);
        }
        match current.updated(&self.directory, manifest, &self.versions) {
            Ok(snapshot) => Ok(self.publish(snapshot)),
            // A segment was merged away between the two reads, or something is damaged: the lock tells which.
            Err(_) => Ok(self.publish(repaired(&self.directory, &self.versions)?)),
        }
    }

    /// See [`IndexDirectory::try_build_lock`].
    pub fn try_build_lock(&self) -> Result<Option<BuildLock>, IndexError> {
        Ok(self.directory.try_build_lock()?)
    }

    /// Throws the index away; everything has to be indexed again.
    pub fn clear(&self) -> Result<Arc<Snapshot>, IndexError> {
        let locked = self.directory.lock()?;
        let snapshot = emptied(&self.directory, &locked, &self.versions)?;
        Ok(self.publish(snapshot))
    }

    pub(super) fn publish(&self, snapshot: Snapshot) -> Arc<Snapshot> {
        let snapshot = Arc::new(snapshot);
        *self.current.write() = snapshot.clone();
        snapshot
    }

    /// Applies an update. What another process has changed meanwhile is kept.
    pub fn apply(&self, update: Update) -> Result<Arc<Snapshot>, IndexError> {
        let locked = self.directory.lock()?;
        let base = self.refreshed_locked(&locked)?;
        let mut manifest = base.manifest.clone();
        manifest.generation += 1;
        manifest.complete |= update.completes;
        manifest.position = update.position.unwrap_or(manifest.position);
        let gone: HashSet<&str> = update.removed.iter().chain(&update.replaced).map(String::as_str).collect();
        // Before segments are added or dropped: places in `base` are indexes into its list of segments.
        delete(&mut manifest, &base, &gone);
        if let Some(builder) = update.added.filter(|builder| !builder.is_empty()) {
            let new = self.directory.write_segment(|to| builder.write(to))?;
            manifest.segments.push(IndexDirectory::place(&locked, &new)?);
        }
        // A segment of which nothing is left only costs time.
        let is_used = |entry: &Entry| {
            let part = base.parts.iter().find(|part| part.entry.file == entry.file);
            part.is_none_or(|part| {
                entry.deleted.len() < usize::try_from(part.segment.documents()).unwrap_or(usize::MAX)
            })
        };
        manifest.segments.retain(is_used);
        self.commit(&locked, &base, manifest)
    }

    /// Makes a manifest the current one.
    pub(super) fn commit(
        &self,
        locked: &Locked,
        base: &Snapshot,
        manifest: Manifest,
    ) -> Result<Arc<Snapshot>, IndexError> {
        // Files are removed last. In the other order, a crash would leave a manifest that names missing segments;
        // now it leaves files that nothing names, which the next update removes.
        self.directory.replace_manifest(locked, &manifest)?;
        let snapshot = base.updated(&self.directory, manifest, &self.versions)?;
        self.directory.remove_unused(locked, &snapshot.manifest);
        Ok(self.publish(snapshot))
    }

    /// With the lock, no segment can be merged away between the reads.
    pub(super) fn refreshed_locked(&self, locked: &Locked) -> Result<Arc<Snapshot>, IndexError> {
        let current = self.snapshot();
        let manifest = self.directory.manifest()?;
        if manifest == current.manifest {
            return Ok(current);
        }
        let snapshot = match current.updated(&self.directory, manifest, &self.versions) {
            Ok(snapshot) => snapshot,
            Err(_) => emptied(&self.directory, locked, &self.versions)?,
        };
        Ok(self.publish(snapshot))
    }
}

fn open_current(directory: &IndexDirectory, versions: &Versions) -> Result<Snapshot, IndexError> {
    Snapshot::open(directory, directory.manifest()?, versions, VERIFIED_AT_ONCE)
}

/// The index as it is once no other process changes it; emptied if it is damaged then.
fn repaired(directory: &IndexDirectory, versions: &Versions) -> Result<Snapshot, IndexError> {
    let locked = directory.lock()?;
    open_current(directory, versions).or_else(|_| emptied(directory, &locked, versions))
}

/// An empty index in the place of a damaged one.
fn emptied(directory: &IndexDirectory, locked: &Locked, versions: &Versions) -> Result<Snapshot, IndexError> {
    let generation = directory.manifest().map_err(io::Error::other)?.generation + 1;
    let manifest = Manifest { generation, ..Manifest::default() };
    directory.replace_manifest(locked, &manifest)?;
    directory.remove_unused(locked, &manifest);
    Snapshot::open(directory, manifest, versions, 0)
}

/// Marks the documents with these paths as gone.
fn delete(manifest: &mut Manifest, base: &Snapshot, gone: &HashSet<&str>) {
    for place in base.find_all(gone) {
        if let Some(entry) = manifest.segments.get_mut(place.part) {
            entry.deleted.push(place.document);
        }
    }
}
