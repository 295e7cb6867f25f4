//! Keeps the number of segments small. Merging goes on without the lock: only its last step needs it.

use super::directory::{IndexDirectory, IndexError};
use super::manifest::Entry;
use super::snapshot::{Part, Snapshot};
use super::update::Index;
use crate::segment::{Source, merge};

/// A search looks at every segment, so there are at most about this many.
const MOST_SEGMENTS: usize = 8;

impl Index {
    /// Whether there is something for [`Index::merge_some`] to do.
    pub fn needs_merge(snapshot: &Snapshot) -> bool {
        !chosen(snapshot).is_empty()
    }

    /// Merges segments if there are too many. Resolves with whether it did.
    pub fn merge_some(&self) -> Result<bool, IndexError> {
        let base = self.refreshed()?;
        let chosen = chosen(&base);
        if chosen.is_empty() {
            return Ok(false);
        }
        let parts: Vec<&Part> = base.parts.iter().filter(|part| chosen.contains(&part.entry.file)).collect();
        let is_deleted: Vec<_> = parts.iter().map(|part| |document| part.is_deleted(document)).collect();
        let sources: Vec<Source<'_>> = parts
            .iter()
            .zip(&is_deleted)
            .map(|(part, is_deleted)| Source { segment: &part.segment, is_deleted })
            .collect();
        // The slow part. Updates of other processes go on meanwhile, and are accounted for below.
        let new = self.directory.write_segment(|to| merge(&sources, &self.versions, to))?;
        let locked = self.directory.lock()?;
        let now = self.refreshed_locked(&locked)?;
        let Some(deleted) = deleted_since(&now, &parts) else {
            // Another process has merged them.
            return Ok(false);
        };
        let mut manifest = now.manifest.clone();
        manifest.generation += 1;
        manifest.segments.retain(|entry| !chosen.contains(&entry.file));
        manifest.segments.push(Entry { deleted, ..IndexDirectory::place(&locked, &new)? });
        self.commit(&locked, &now, manifest)?;
        Ok(true)
    }
}

/// The segments to merge: the smallest ones, so many that few are left. Each document is then copied only as often as its
/// segment doubles.
fn chosen(snapshot: &Snapshot) -> Vec<String> {
    if snapshot.parts.len() <= MOST_SEGMENTS {
        return Vec::new();
    }
    let mut by_size: Vec<(u64, &str)> =
        snapshot.manifest.segments.iter().map(|entry| (entry.bytes, entry.file.as_str())).collect();
    by_size.sort_unstable();
    let mut chosen = Vec::new();
    let mut total = 0;
    for (bytes, file) in by_size {
        // One that is much larger than all smaller ones together stays as it is.
        if chosen.len() > MOST_SEGMENTS / 2 && bytes > total * 2 {
            break;
        }
        total += bytes;
        chosen.push(file.to_owned());
    }
    chosen
}

/// The documents of the merged segment that were deleted from its sources in the meantime. `None` if a source does not count
/// any more.
pub(super) fn deleted_since(now: &Snapshot, parts: &[&Part]) -> Option<Vec<u32>> {
    let mut deleted = Vec::new();
    // Counts as `merge` numbers documents: sources in order, without those deleted before. If the two differed,
    // the wrong documents would be deleted.
    let mut next = 0;
    for part in parts {
        let current = now.parts.iter().find(|current| current.entry.file == part.entry.file)?;
        for document in (0..part.segment.documents()).filter(|document| !part.is_deleted(*document)) {
            if current.is_deleted(document) {
                deleted.push(next);
            }
            next += 1;
        }
    }
    Some(deleted)
}

impl Snapshot {
    /// How many segments a search looks at.
    pub fn segments(&self) -> usize {
        self.parts.len()
    }
}
