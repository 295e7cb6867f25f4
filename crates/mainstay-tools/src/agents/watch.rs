//! Notices when a file changes that somebody has seen as a resource.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mainstay_core::{Event, Result};
use mainstay_sandbox::{Facts, Workspace};

use super::shelf;
use crate::files::blocking;

/// The most files that are watched; those that were read longest ago are given up.
const MOST: usize = 1000;

/// How often they are looked at. Only their facts are; nothing is read.
const EVERY: Duration = Duration::from_secs(1);

#[derive(Debug, Clone)]
pub struct Watch {
    workspace: Workspace,
    seen: Arc<Mutex<VecDeque<Seen>>>,
}

#[derive(Debug, Clone)]
struct Seen {
    uri: Arc<str>,
    /// None while there is no such file.
    facts: Option<Facts>,
}

impl Watch {
    pub fn new(workspace: &Workspace) -> Self {
        Self { workspace: workspace.clone(), seen: Arc::default() }
    }

    /// Watches from now on.
    pub(super) fn add(&self, uri: &str) {
        let now = Seen { uri: uri.into(), facts: self.facts(uri) };
        let mut seen = self.seen();
        // One that is watched keeps what it was: whoever listens has yet to hear of a change.
        let at = seen.iter().position(|seen| &*seen.uri == uri);
        let entry = at.and_then(|at| seen.remove(at)).unwrap_or(now);
        if seen.len() >= MOST {
            seen.pop_front();
        }
        seen.push_back(entry);
    }

    /// Looks once a second, for as long as the program runs.
    pub async fn run(self, announce: impl Fn(Event) + Send) {
        let mut every = tokio::time::interval(EVERY);
        every.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            every.tick().await;
            let watch = self.clone();
            let changed: Result<Vec<Arc<str>>> = blocking(move || Ok(watch.changed())).await;
            for uri in changed.into_iter().flatten() {
                announce(Event::ResourceUpdated { uri });
            }
        }
    }

    /// Those that are not what they were when this was last asked.
    fn changed(&self) -> Vec<Arc<str>> {
        let before = self.seen().clone();
        let now = before.into_iter().map(|seen| Seen { facts: self.facts(&seen.uri), ..seen });
        let now: Vec<Seen> = now.collect();
        let mut changed = Vec::new();
        for seen in self.seen().iter_mut() {
            if let Some(now) = now.iter().find(|now| Arc::ptr_eq(&now.uri, &seen.uri) && now.facts != seen.facts) {
                seen.facts = now.facts;
                changed.push(seen.uri.clone());
            }
        }
        changed
    }

    fn facts(&self, uri: &str) -> Option<Facts> {
        shelf::open(&self.workspace, uri).ok().map(|file| *file.facts())
    }

    fn seen(&self) -> MutexGuard<'_, VecDeque<Seen>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::super::team::Team;
    use super::*;

    #[tokio::test]
    async fn a_file_that_is_made_changed_or_removed_is_noticed_once() {
        let team = Team::new().await;
        let (watch, file) = (Watch::new(&team.setup.workspace), team.root().join("README.md"));
        watch.add("file://README.md");
        let noticed = || watch.changed().iter().map(ToString::to_string).collect::<Vec<_>>();
        assert!(noticed().is_empty());
        std::fs::write(&file, "one").unwrap();
        // Reading it meanwhile is no reason not to tell the others.
        watch.add("file://README.md");
        assert_eq!((noticed(), noticed()), (vec!["file://README.md".to_owned()], vec![]));
        std::fs::write(&file, "three").unwrap();
        assert_eq!((noticed().len(), noticed().len()), (1, 0));
        std::fs::remove_file(&file).unwrap();
        assert_eq!((noticed().len(), noticed().len()), (1, 0));
    }

    #[tokio::test]
    async fn no_more_than_so_many_are_watched() {
        let team = Team::new().await;
        let watch = Watch::new(&team.setup.workspace);
        for number in 0..=MOST {
            watch.add(&format!("file://{number}"));
        }
        let seen = watch.seen();
        assert_eq!((seen.len(), &*seen[0].uri), (MOST, "file://1"));
    }

    #[tokio::test]
    async fn a_change_is_announced() {
        let team = Team::new().await;
        let watch = Watch::new(&team.setup.workspace);
        watch.add("file://a");
        let (sender, mut heard) = tokio::sync::mpsc::unbounded_channel();
        let running = tokio::spawn(watch.run(move |event| drop(sender.send(event))));
        std::fs::write(team.root().join("a"), "x").unwrap();
        assert_eq!(heard.recv().await, Some(Event::ResourceUpdated { uri: "file://a".into() }));
        running.abort();
    }
}
