//! Notices when a document changes that somebody has read as a resource: its cache was replaced by another.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mainstay_core::Change;
use mainstay_sandbox::Metadata;

use super::cache::error::Failure;
use super::cache::manifest::{Entry, version_of};
use super::cache_root::Caches;
use crate::progress::Progress;
use crate::watch::Poll;

/// The most documents that are watched; those that were read longest ago are given up.
const MOST: usize = 1000;

#[derive(Debug)]
pub(crate) struct Vigil {
    caches: Arc<Caches>,
    seen: Mutex<VecDeque<Seen>>,
}

#[derive(Debug, Clone)]
struct Seen {
    /// What it is announced as: as it was asked for.
    uri: Arc<str>,
    cache: Arc<str>,
    id: Arc<str>,
    /// None while there is no such document.
    version: Option<Arc<str>>,
    /// What the file system said of the manifest that this was last held against, if a change since then would show in
    /// that.
    manifest: Option<Metadata>,
}

impl Vigil {
    pub(crate) fn new(caches: Arc<Caches>) -> Self {
        Self { caches, seen: Mutex::default() }
    }

    /// Watches from now on for another content than this.
    pub(crate) fn add(&self, uri: &str, cache: &str, id: &str, content: &str) {
        let version = Some(version_of(content.as_bytes()).into());
        let now = Seen { uri: uri.into(), cache: cache.into(), id: id.into(), version, manifest: None };
        let mut seen = self.seen();
        // One that is watched keeps what it was: whoever listens has yet to hear of a change.
        let at = seen.iter().position(|seen| *seen.uri == *uri);
        let entry = at.and_then(|at| seen.remove(at)).unwrap_or(now);
        if seen.len() >= MOST {
            seen.pop_front();
        }
        seen.push_back(entry);
    }

    /// What a cache holds now: nothing if there is none that is whole. None if nobody can tell.
    fn entries(&self, cache: &str) -> Option<Vec<Entry>> {
        self.caches.entries(cache, &Progress::default()).map_or_else(
            |error| match Failure::of(&error) {
                Failure::CacheMissing | Failure::CacheInvalid => Some(Vec::new()),
                Failure::InvalidQuery | Failure::InvalidBudget | Failure::Io | Failure::Internal => None,
            },
            Some,
        )
    }

    /// These documents of a cache as they are now, unless its manifest is the one they were held against.
    fn look(&self, cache: &str, documents: Vec<Seen>) -> Vec<Seen> {
        // Before the manifest is read: if it changes meanwhile, that shows the next time.
        let manifest = self.caches.manifest(cache).ok();
        if manifest.is_some() && documents.iter().all(|seen| seen.manifest == manifest) {
            return Vec::new();
        }
        let manifest = manifest.filter(Metadata::settled);
        let Some(entries) = self.entries(cache) else { return Vec::new() };
        let version = |id: &str| {
            let found = entries.binary_search_by(|entry| entry.id.as_str().cmp(id)).ok();
            found.map(|nth| entries[nth].version.as_str().into())
        };
        documents.into_iter().map(|seen| Seen { version: version(&seen.id), manifest, ..seen }).collect()
    }

    fn seen(&self) -> MutexGuard<'_, VecDeque<Seen>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Poll for Vigil {
    fn changed(&self) -> Vec<(Arc<str>, Change)> {
        let mut before: BTreeMap<Arc<str>, Vec<Seen>> = BTreeMap::new();
        for seen in self.seen().iter() {
            before.entry(seen.cache.clone()).or_default().push(seen.clone());
        }
        let looked = before.into_iter().flat_map(|(cache, documents)| self.look(&cache, documents));
        let mut now: HashMap<Arc<str>, Seen> = looked.map(|seen| (seen.uri.clone(), seen)).collect();
        let mut changed = Vec::new();
        for seen in self.seen().iter_mut() {
            let Some(now) = now.remove(&seen.uri) else { continue };
            let change = match (&seen.version, &now.version) {
                (before, now) if before == now => None,
                (None, _) => Some(Change::Created),
                (Some(_), None) => Some(Change::Deleted),
                (Some(_), Some(_)) => Some(Change::Modified),
            };
            changed.extend(change.map(|change| (seen.uri.clone(), change)));
            *seen = now;
        }
        changed
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::Ground;
    use super::*;

    const BOTH: &[(&str, &str)] = &[("a.md", "alpha"), ("b.md", "beta")];

    fn watching(ground: &Ground) -> Vigil {
        let vigil = Vigil::new(Arc::new(ground.caches()));
        for (id, content) in BOTH {
            add(&vigil, id, content);
        }
        vigil
    }

    fn add(vigil: &Vigil, id: &str, content: &str) {
        vigil.add(&format!("context://docs/{id}"), "docs", id, content);
    }

    fn noticed(vigil: &Vigil) -> Vec<(String, Change)> {
        vigil.changed().into_iter().map(|(uri, change)| (uri.to_string(), change)).collect()
    }

    fn told(id: &str, change: Change) -> Vec<(String, Change)> {
        vec![(format!("context://docs/{id}"), change)]
    }

    #[test]
    fn only_documents_that_are_another_are_noticed_and_once() {
        let ground = Ground::built(BOTH);
        let vigil = watching(&ground);
        assert_eq!(noticed(&vigil), []);
        ground.build(true).unwrap();
        assert_eq!(noticed(&vigil), [], "the same was built again");
        ground.write(&[("b.md", "gamma"), ("c.md", "new")]);
        ground.build(true).unwrap();
        // Reading it meanwhile is no reason not to tell the others.
        add(&vigil, "b.md", "gamma");
        assert_eq!((noticed(&vigil), noticed(&vigil)), (told("b.md", Change::Modified), vec![]));
        std::fs::remove_file(ground.sources().join("a.md")).unwrap();
        ground.build(true).unwrap();
        assert_eq!((noticed(&vigil), noticed(&vigil)), (told("a.md", Change::Deleted), vec![]));
        ground.write(BOTH);
        ground.build(true).unwrap();
        let both = [told("a.md", Change::Created), told("b.md", Change::Modified)].concat();
        let mut heard = noticed(&vigil);
        heard.sort_by(|a, b| a.0.cmp(&b.0));
        assert_eq!((heard, noticed(&vigil)), (both, vec![]));
    }

    #[test]
    fn a_document_that_was_replaced_between_reading_and_watching_is_noticed() {
        let ground = Ground::built(BOTH);
        let vigil = watching(&ground);
        assert_eq!(noticed(&vigil), []);
        ground.write(&[("c.md", "new")]);
        ground.build(true).unwrap();
        assert_eq!(noticed(&vigil), []);
        add(&vigil, "c.md", "old");
        assert_eq!((noticed(&vigil), noticed(&vigil)), (told("c.md", Change::Modified), vec![]));
    }

    #[test]
    fn a_cache_that_goes_or_is_spoilt_takes_its_documents_along_until_it_is_back() {
        let ground = Ground::built(&BOTH[..1]);
        let vigil = watching(&ground);
        assert_eq!(noticed(&vigil), told("b.md", Change::Deleted));
        let manifest = ground.cache().join("manifest.json");
        let whole = std::fs::read(&manifest).unwrap();
        for spoil in [|at: &_| std::fs::remove_file(at), |at: &_| std::fs::write(at, "{")] {
            spoil(&manifest).unwrap();
            assert_eq!((noticed(&vigil), noticed(&vigil)), (told("a.md", Change::Deleted), vec![]));
            std::fs::write(&manifest, &whole).unwrap();
            assert_eq!((noticed(&vigil), noticed(&vigil)), (told("a.md", Change::Created), vec![]));
        }
        std::fs::remove_dir_all(ground.cache()).unwrap();
        assert_eq!((noticed(&vigil), noticed(&vigil)), (told("a.md", Change::Deleted), vec![]));
    }

    #[test]
    fn a_manifest_is_read_again_only_if_it_changed() {
        let ground = Ground::built(BOTH);
        let vigil = watching(&ground);
        // Until the clock of the file system has moved on, nothing is relied on.
        std::thread::sleep(std::time::Duration::from_millis(3100));
        assert_eq!(noticed(&vigil), []);
        let held = |vigil: &Vigil| vigil.seen().iter().all(|seen| seen.manifest.is_some());
        assert!(held(&vigil), "they are held against the manifest that was read");
        // Whoever reads the manifest finds that the cache has no documents.
        std::fs::rename(ground.cache().join("documents"), ground.cache().join("elsewhere")).unwrap();
        assert_eq!(noticed(&vigil), []);
        std::fs::remove_file(ground.cache().join("manifest.json")).unwrap();
        assert_eq!(noticed(&vigil).len(), 2);
    }

    #[test]
    fn no_more_than_so_many_are_watched() {
        let ground = Ground::built(BOTH);
        let vigil = Vigil::new(Arc::new(ground.caches()));
        for number in 0..=MOST {
            add(&vigil, &number.to_string(), "");
        }
        let seen = vigil.seen();
        assert_eq!((seen.len(), &*seen[0].uri), (MOST, "context://docs/1"));
    }
}
