//! Watching resources and announcing their changes, for every family.
//!
//! [`WatchList`] remembers the resources that clients have read and how each was when last seen; [`ResourceWatcher`]
//! looks at the workspace's files once a second, asks the families' own sources, and announces what is different.
//! Polling is used instead of inotify: it needs no descriptor per file and works on network file systems.

use std::collections::{HashMap, VecDeque};
use std::fmt::Debug;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mainstay_core::{Change, Event};
use mainstay_sandbox::{Metadata, Workspace, WorkspacePath};

use crate::progress::blocking;

/// How often resources are polled. Only metadata of files is read, not their content.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// A family's own resources.
pub(crate) trait ChangeSource: Debug + Send + Sync {
    /// Changes since the last call. May block on the disk.
    fn changes(&self) -> Vec<ResourceChange>;
}

/// Watches files of the workspace by their paths, and the families' own sources. Clones share what is watched.
#[derive(Debug, Clone)]
pub struct ResourceWatcher {
    workspace: Workspace,
    /// By path; no metadata while there is no such file.
    files: Arc<WatchList<String, Option<Metadata>>>,
    sources: Arc<Mutex<Vec<Arc<dyn ChangeSource>>>>,
}

impl ResourceWatcher {
    pub fn new(workspace: &Workspace) -> Self {
        Self { workspace: workspace.clone(), files: Arc::default(), sources: Arc::default() }
    }

    /// Watches a file. Links and other spellings of its path lead to one entry, announced by the resolved path.
    pub(crate) fn add_file(&self, path: &WorkspacePath) {
        if let Ok(path) = path.resolved() {
            let uri = format!("file://{}", path.display().replace('%', "%25"));
            self.add_file_as(&path, uri.into());
        }
    }

    /// Watches a file that is announced with this URI: the one under which it is listed.
    pub(crate) fn add_file_as(&self, path: &WorkspacePath, uri: Arc<str>) {
        if let Ok(path) = path.resolved() {
            self.files.add(path.display().to_owned(), uri, self.metadata(path.display()));
        }
    }

    /// Adds a source that is polled as often as the files.
    pub(crate) fn add_source(&self, source: Arc<dyn ChangeSource>) {
        self.sources.lock().unwrap_or_else(PoisonError::into_inner).push(source);
    }

    /// Polls for as long as the program runs. A poll that takes longer than the interval delays the next one.
    pub async fn run(self, announce: impl Fn(Event) + Send) {
        let mut interval = tokio::time::interval(POLL_INTERVAL);
        interval.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            interval.tick().await;
            let watcher = self.clone();
            let changes = blocking(move || Ok(watcher.changes())).await;
            for (uri, change) in changes.into_iter().flatten() {
                announce(Event::ResourceUpdated { uri, change });
            }
        }
    }

    fn changes(&self) -> Vec<ResourceChange> {
        // A copy, so that a source that is slow does not keep a family from adding another.
        let sources = self.sources.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let files = self.file_changes().into_iter();
        files.chain(sources.iter().flat_map(|source| source.changes())).collect()
    }

    fn file_changes(&self) -> Vec<ResourceChange> {
        let paths = self.files.snapshot().into_iter().map(|watched| watched.key);
        let current = paths.map(|path| (path.clone(), self.metadata(&path))).collect();
        self.files.update(current, Option::as_ref)
    }

    /// Through the sandbox, like a read: a path that has become protected counts as deleted.
    fn metadata(&self, path: &str) -> Option<Metadata> {
        let file = self.workspace.find(path).and_then(|path| path.open_file());
        file.ok().map(|file| *file.metadata())
    }
}

/// The URI of a resource, and what happened to it.
pub(crate) type ResourceChange = (Arc<str>, Change);

/// The most resources of one list: it bounds memory and the work of each poll. The ones read longest ago are dropped.
pub(crate) const MAX_WATCHED: usize = 1000;

/// What is watched, by a key that is the same however a client spells it.
#[derive(Debug)]
pub(crate) struct WatchList<K, S>(Mutex<VecDeque<Watched<K, S>>>);

#[derive(Debug, Clone)]
pub(crate) struct Watched<K, S> {
    pub(crate) key: K,
    /// The URI that changes are announced with.
    pub(crate) uri: Arc<str>,
    pub(crate) state: S,
}

impl<K, S> Default for WatchList<K, S> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Clone + Eq + Hash, S: Clone> WatchList<K, S> {
    /// Watches a resource from now on. One that is already watched keeps its known state: another client may have read
    /// it earlier and has yet to be told of a change since then.
    pub(crate) fn add(&self, key: K, uri: Arc<str>, state: S) {
        let mut entries = self.entries();
        let known = entries.iter().position(|entry| entry.key == key);
        let entry = known.and_then(|at| entries.remove(at)).unwrap_or(Watched { key, uri, state });
        if entries.len() >= MAX_WATCHED {
            entries.pop_front();
        }
        entries.push_back(entry);
    }

    /// A copy, so that nobody waits for this lock while the disk is read.
    pub(crate) fn snapshot(&self) -> Vec<Watched<K, S>> {
        self.entries().iter().cloned().collect()
    }

    /// Takes over current states and returns the changes. `version` is what two states are compared by; `None` says that
    /// the resource does not exist. Resources without a current state are left as they are.
    pub(crate) fn update<V: PartialEq>(
        &self,
        mut current: HashMap<K, S>,
        version: impl Fn(&S) -> Option<&V>,
    ) -> Vec<ResourceChange> {
        let mut changes = Vec::new();
        for entry in self.entries().iter_mut() {
            let Some(state) = current.remove(&entry.key) else { continue };
            let change = match (version(&entry.state), version(&state)) {
                (before, now) if before == now => None,
                (None, _) => Some(Change::Created),
                (Some(_), None) => Some(Change::Deleted),
                (Some(_), Some(_)) => Some(Change::Modified),
            };
            changes.extend(change.map(|change| (entry.uri.clone(), change)));
            entry.state = state;
        }
        changes
    }

    fn entries(&self) -> MutexGuard<'_, VecDeque<Watched<K, S>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A workspace with a watcher.
    struct Watched {
        directory: tempfile::TempDir,
        watcher: ResourceWatcher,
    }

    impl Watched {
        fn new(paths: &[&str]) -> Self {
            let directory = tempfile::tempdir().unwrap();
            let workspace = Workspace::open(directory.path(), &mainstay_sandbox::FilesSettings::default()).unwrap();
            let watched = Self { directory, watcher: ResourceWatcher::new(&workspace) };
            for path in paths {
                watched.add(path);
            }
            watched
        }

        fn root(&self) -> &std::path::Path {
            self.directory.path()
        }

        fn add(&self, path: &str) {
            self.watcher.add_file(&self.watcher.workspace.find(path).unwrap());
        }

        fn changes(&self) -> Vec<(String, Change)> {
            self.watcher.file_changes().into_iter().map(|(uri, change)| (uri.to_string(), change)).collect()
        }
    }

    #[test]
    fn file_that_is_created_modified_or_deleted_is_announced_once() {
        let watched = Watched::new(&["README.md"]);
        let file = watched.root().join("README.md");
        let expected = |change| vec![("file://README.md".to_owned(), change)];
        assert_eq!(watched.changes(), []);
        std::fs::write(&file, "one").unwrap();
        // A client that reads it now must not keep the others from being told.
        watched.add("README.md");
        assert_eq!((watched.changes(), watched.changes()), (expected(Change::Created), vec![]));
        std::fs::write(&file, "three").unwrap();
        assert_eq!((watched.changes(), watched.changes()), (expected(Change::Modified), vec![]));
        std::fs::write(watched.root().join("new"), "four").unwrap();
        std::fs::rename(watched.root().join("new"), &file).unwrap();
        assert_eq!((watched.changes(), watched.changes()), (expected(Change::Modified), vec![]));
        std::fs::remove_file(&file).unwrap();
        assert_eq!((watched.changes(), watched.changes()), (expected(Change::Deleted), vec![]));
    }

    #[test]
    fn file_that_is_read_under_several_names_is_announced_once_by_its_path() {
        let watched = Watched::new(&[]);
        std::fs::create_dir(watched.root().join("sub")).unwrap();
        std::fs::write(watched.root().join("sub/50%"), "one").unwrap();
        std::os::unix::fs::symlink("sub/50%", watched.root().join("link")).unwrap();
        let absolute = watched.root().join("sub/50%");
        for path in ["./sub/50%", "sub/../sub//50%", "link", absolute.to_str().unwrap()] {
            watched.add(path);
        }
        std::fs::write(&absolute, "three").unwrap();
        assert_eq!(watched.changes(), [("file://sub/50%25".to_owned(), Change::Modified)]);
    }

    #[test]
    fn number_of_watched_files_is_limited() {
        let watched = Watched::new(&[]);
        for number in 0..=MAX_WATCHED {
            watched.add(&number.to_string());
        }
        let files = watched.watcher.files.snapshot();
        assert_eq!((files.len(), &*files[0].uri), (MAX_WATCHED, "file://1"));
    }

    #[tokio::test]
    async fn change_is_announced_as_an_event() {
        let watched = Watched::new(&["a"]);
        let (sender, mut events) = tokio::sync::mpsc::unbounded_channel();
        let running = tokio::spawn(watched.watcher.clone().run(move |event| drop(sender.send(event))));
        std::fs::write(watched.root().join("a"), "x").unwrap();
        assert_eq!(
            events.recv().await,
            Some(Event::ResourceUpdated { uri: "file://a".into(), change: Change::Created })
        );
        running.abort();
    }

    #[test]
    fn sources_of_families_are_polled_too() {
        #[derive(Debug)]
        struct AlwaysDeleted;
        impl ChangeSource for AlwaysDeleted {
            fn changes(&self) -> Vec<ResourceChange> {
                vec![("other://x".into(), Change::Deleted)]
            }
        }
        let watched = Watched::new(&["a"]);
        watched.watcher.clone().add_source(Arc::new(AlwaysDeleted));
        std::fs::write(watched.root().join("a"), "x").unwrap();
        let expected = [("file://a".into(), Change::Created), ("other://x".into(), Change::Deleted)];
        assert_eq!(watched.watcher.changes(), expected);
    }
}
