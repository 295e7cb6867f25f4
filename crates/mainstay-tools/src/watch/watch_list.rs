//! Resources that clients have read, each with its state when last seen.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mainstay_core::Change;

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
