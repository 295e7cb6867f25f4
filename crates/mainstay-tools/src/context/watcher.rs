//! Announces changes of documents that clients have read as resources: a document changes when its cache is replaced.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use mainstay_core::CacheFailure;
use mainstay_sandbox::Metadata;

use super::cache::{Entry, find_entry, version_of};
use super::cache_root::CacheRoot;
use crate::progress::Progress;
use crate::watch::{ChangeSource, ResourceChange, WatchList};

/// Compares versions in manifests; no document is read.
#[derive(Debug)]
pub(crate) struct DocumentWatcher {
    caches: Arc<CacheRoot>,
    /// By URI, as clients have spelled it.
    documents: WatchList<Arc<str>, DocumentState>,
}

/// A document as it was when last seen.
#[derive(Debug, Clone)]
struct DocumentState {
    cache: Arc<str>,
    id: Arc<str>,
    /// `None` while there is no such document.
    version: Option<Arc<str>>,
    /// Metadata of the manifest that the version was last read from, if any later change would show in it.
    manifest: Option<Metadata>,
}

impl DocumentWatcher {
    pub(crate) fn new(caches: Arc<CacheRoot>) -> Self {
        Self { caches, documents: WatchList::default() }
    }

    /// Announces from now on when the document differs from this content.
    pub(crate) fn add(&self, uri: &str, cache: &str, id: &str, content: &str) {
        let version = Some(version_of(content.as_bytes()).into());
        let state = DocumentState { cache: cache.into(), id: id.into(), version, manifest: None };
        self.documents.add(uri.into(), uri.into(), state);
    }

    /// The documents of a cache: none if it is missing or damaged, `None` if that cannot be told now.
    fn entries(&self, cache: &str) -> Option<Vec<Entry>> {
        let is_gone = |failure| matches!(failure, CacheFailure::CacheMissing | CacheFailure::CacheInvalid);
        match self.caches.entries(cache, &Progress::default()) {
            Err(error) if is_gone(CacheFailure::of(&error)) => Some(Vec::new()),
            entries => entries.ok(),
        }
    }

    /// The current states of watched documents of one cache; none if its manifest has not changed since.
    fn current_states(&self, cache: &str, documents: Vec<(Arc<str>, DocumentState)>) -> Vec<(Arc<str>, DocumentState)> {
        // Before the manifest is read: a change in between then shows in the next poll.
        let manifest = self.caches.manifest_metadata(cache).ok();
        if manifest.is_some() && documents.iter().all(|(_, state)| state.manifest == manifest) {
            return Vec::new();
        }
        // One that is not settled could change again unnoticed; it is read again at the next poll.
        let manifest = manifest.filter(Metadata::settled);
        let Some(entries) = self.entries(cache) else { return Vec::new() };
        let current = |state: DocumentState| {
            let version = find_entry(&entries, &state.id).map(|entry| entry.version.as_str().into());
            DocumentState { version, manifest, ..state }
        };
        documents.into_iter().map(|(uri, state)| (uri, current(state))).collect()
    }
}

impl ChangeSource for DocumentWatcher {
    fn changes(&self) -> Vec<ResourceChange> {
        // Each manifest is read once, however many of its documents are watched.
        let mut by_cache: BTreeMap<Arc<str>, Vec<(Arc<str>, DocumentState)>> = BTreeMap::new();
        for watched in self.documents.snapshot() {
            by_cache.entry(watched.state.cache.clone()).or_default().push((watched.key, watched.state));
        }
        let current: HashMap<Arc<str>, DocumentState> =
            by_cache.into_iter().flat_map(|(cache, documents)| self.current_states(&cache, documents)).collect();
        self.documents.update(current, |state| state.version.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use mainstay_core::Change;

    use super::super::testing::CacheFixture;
    use super::*;
    use crate::watch::MAX_WATCHED;

    const BOTH: &[(&str, &str)] = &[("a.md", "alpha"), ("b.md", "beta")];

    fn watching(fixture: &CacheFixture) -> DocumentWatcher {
        let watcher = DocumentWatcher::new(Arc::new(fixture.root()));
        for (id, content) in BOTH {
            add(&watcher, id, content);
        }
        watcher
    }

    fn add(watcher: &DocumentWatcher, id: &str, content: &str) {
        watcher.add(&format!("context://docs/{id}"), "docs", id, content);
    }

    fn changes(watcher: &DocumentWatcher) -> Vec<(String, Change)> {
        watcher.changes().into_iter().map(|(uri, change)| (uri.to_string(), change)).collect()
    }

    fn change_of(id: &str, change: Change) -> Vec<(String, Change)> {
        vec![(format!("context://docs/{id}"), change)]
    }

    #[test]
    fn only_changed_documents_are_announced_and_only_once() {
        let fixture = CacheFixture::built(BOTH);
        let watcher = watching(&fixture);
        assert_eq!(changes(&watcher), []);
        fixture.build(true).unwrap();
        assert_eq!(changes(&watcher), [], "nothing has changed");
        fixture.write_sources(&[("b.md", "gamma"), ("c.md", "new")]);
        fixture.build(true).unwrap();
        // A client that reads it now must not keep the others from being told.
        add(&watcher, "b.md", "gamma");
        assert_eq!((changes(&watcher), changes(&watcher)), (change_of("b.md", Change::Modified), vec![]));
        std::fs::remove_file(fixture.sources().join("a.md")).unwrap();
        fixture.build(true).unwrap();
        assert_eq!((changes(&watcher), changes(&watcher)), (change_of("a.md", Change::Deleted), vec![]));
        fixture.write_sources(BOTH);
        fixture.build(true).unwrap();
        let both = [change_of("a.md", Change::Created), change_of("b.md", Change::Modified)].concat();
        let mut announced = changes(&watcher);
        announced.sort_by(|a, b| a.0.cmp(&b.0));
        assert_eq!((announced, changes(&watcher)), (both, vec![]));
    }

    #[test]
    fn document_replaced_between_reading_and_watching_is_announced() {
        let fixture = CacheFixture::built(BOTH);
        let watcher = watching(&fixture);
        assert_eq!(changes(&watcher), []);
        fixture.write_sources(&[("c.md", "new")]);
        fixture.build(true).unwrap();
        assert_eq!(changes(&watcher), []);
        add(&watcher, "c.md", "old");
        assert_eq!((changes(&watcher), changes(&watcher)), (change_of("c.md", Change::Modified), vec![]));
    }

    #[test]
    fn documents_of_a_missing_or_damaged_cache_are_deleted_until_it_is_restored() {
        let fixture = CacheFixture::built(&BOTH[..1]);
        let watcher = watching(&fixture);
        assert_eq!(changes(&watcher), change_of("b.md", Change::Deleted));
        let manifest = fixture.cache().join("manifest.json");
        let whole = std::fs::read(&manifest).unwrap();
        for damage in [|at: &_| std::fs::remove_file(at), |at: &_| std::fs::write(at, "{")] {
            damage(&manifest).unwrap();
            assert_eq!((changes(&watcher), changes(&watcher)), (change_of("a.md", Change::Deleted), vec![]));
            std::fs::write(&manifest, &whole).unwrap();
            assert_eq!((changes(&watcher), changes(&watcher)), (change_of("a.md", Change::Created), vec![]));
        }
        std::fs::remove_dir_all(fixture.cache()).unwrap();
        assert_eq!((changes(&watcher), changes(&watcher)), (change_of("a.md", Change::Deleted), vec![]));
    }

    #[test]
    fn manifest_is_read_again_only_after_a_change() {
        let fixture = CacheFixture::built(BOTH);
        let watcher = watching(&fixture);
        // Until the clock of the file system has moved on, metadata is not relied on.
        std::thread::sleep(std::time::Duration::from_millis(3100));
        assert_eq!(changes(&watcher), []);
        let watched = watcher.documents.snapshot();
        assert!(watched.iter().all(|watched| watched.state.manifest.is_some()), "the manifest is settled");
        // A second read of the cache would fail, because its documents are gone.
        std::fs::rename(fixture.cache().join("documents"), fixture.cache().join("elsewhere")).unwrap();
        assert_eq!(changes(&watcher), []);
        std::fs::remove_file(fixture.cache().join("manifest.json")).unwrap();
        assert_eq!(changes(&watcher).len(), 2);
    }

    #[test]
    fn number_of_watched_documents_is_limited() {
        let fixture = CacheFixture::built(BOTH);
        let watcher = DocumentWatcher::new(Arc::new(fixture.root()));
        for number in 0..=MAX_WATCHED {
            add(&watcher, &number.to_string(), "");
        }
        let watched = watcher.documents.snapshot();
        assert_eq!((watched.len(), &*watched[0].uri), (MAX_WATCHED, "context://docs/1"));
    }
}
