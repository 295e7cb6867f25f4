//! Notices when something changes that somebody has seen as a resource: files, and what families add.

use std::collections::VecDeque;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mainstay_core::{Change, Event};
use mainstay_sandbox::{Metadata, Workspace, WorkspacePath};

use crate::files::blocking;

/// The most files that are watched; those that were read longest ago are given up.
const MOST: usize = 1000;

/// How often they are looked at. Only the facts of files are; nothing of them is read.
const EVERY: Duration = Duration::from_secs(1);

/// Something else of which resources are made.
pub(crate) trait Poll: Debug + Send + Sync {
    /// Those that are not what they were when this was last asked, and what happened to them. It may wait for the disk.
    fn changed(&self) -> Vec<(Arc<str>, Change)>;
}

#[derive(Debug, Clone)]
pub struct Watch {
    workspace: Workspace,
    seen: Arc<Mutex<VecDeque<Seen>>>,
    others: Arc<Mutex<Vec<Arc<dyn Poll>>>>,
}

#[derive(Debug, Clone)]
struct Seen {
    /// Where it is, whatever it was called by those who read it.
    path: String,
    /// What it is announced as.
    uri: Arc<str>,
    /// None while there is no such file.
    facts: Option<Metadata>,
}

impl Watch {
    pub fn new(workspace: &Workspace) -> Self {
        Self { workspace: workspace.clone(), seen: Arc::default(), others: Arc::default() }
    }

    /// Watches from now on; whichever way it is named, it is one file and is announced by its path.
    pub(crate) fn add(&self, spot: &WorkspacePath) {
        if let Ok(spot) = spot.resolved() {
            let uri = format!("file://{}", spot.display().replace('%', "%25"));
            self.keep(spot.display(), uri.into());
        }
    }

    /// The same for one that has a name in lists, by which it is announced.
    pub(crate) fn add_as(&self, spot: &WorkspacePath, uri: Arc<str>) {
        if let Ok(spot) = spot.resolved() {
            self.keep(spot.display(), uri);
        }
    }

    /// Has something else looked at as often.
    pub(crate) fn also(&self, other: Arc<dyn Poll>) {
        self.others.lock().unwrap_or_else(PoisonError::into_inner).push(other);
    }

    fn keep(&self, path: &str, uri: Arc<str>) {
        let now = Seen { path: path.to_owned(), uri, facts: self.facts(path) };
        let mut seen = self.seen();
        // One that is watched keeps what it was: whoever listens has yet to hear of a change.
        let at = seen.iter().position(|seen| seen.path == path);
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
            let changed = blocking(move || Ok(watch.all_changed())).await;
            for (uri, change) in changed.into_iter().flatten() {
                announce(Event::ResourceUpdated { uri, change });
            }
        }
    }

    fn all_changed(&self) -> Vec<(Arc<str>, Change)> {
        let others = self.others.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let changed = self.changed().into_iter();
        changed.chain(others.iter().flat_map(|other| other.changed())).collect()
    }

    /// Files that are not what they were when this was last asked, and what happened to them.
    fn changed(&self) -> Vec<(Arc<str>, Change)> {
        let before = self.seen().clone();
        let now = before.into_iter().map(|seen| Seen { facts: self.facts(&seen.path), ..seen });
        let now: Vec<Seen> = now.collect();
        let mut changed = Vec::new();
        for seen in self.seen().iter_mut() {
            let Some(now) = now.iter().find(|now| Arc::ptr_eq(&now.uri, &seen.uri)) else { continue };
            let change = match (seen.facts, now.facts) {
                (before, now) if before == now => continue,
                (None, _) => Change::Created,
                (Some(_), None) => Change::Deleted,
                (Some(_), Some(_)) => Change::Modified,
            };
            seen.facts = now.facts;
            changed.push((seen.uri.clone(), change));
        }
        changed
    }

    fn facts(&self, path: &str) -> Option<Metadata> {
        let file = self.workspace.find(path).and_then(|spot| spot.open_file());
        file.ok().map(|file| *file.metadata())
    }

    fn seen(&self) -> MutexGuard<'_, VecDeque<Seen>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::testing::Team;

    fn watching(team: &Team, paths: &[&str]) -> Watch {
        let watch = Watch::new(&team.setup.workspace);
        for path in paths {
            add(&watch, path);
        }
        watch
    }

    fn add(watch: &Watch, path: &str) {
        watch.add(&watch.workspace.find(path).unwrap());
    }

    fn noticed(watch: &Watch) -> Vec<(String, Change)> {
        watch.changed().into_iter().map(|(uri, change)| (uri.to_string(), change)).collect()
    }

    #[tokio::test]
    async fn a_file_that_is_made_changed_or_removed_is_noticed_once_and_so_is_told() {
        let team = Team::new().await;
        let (watch, file) = (watching(&team, &["README.md"]), team.root().join("README.md"));
        let told = |change| vec![("file://README.md".to_owned(), change)];
        assert_eq!(noticed(&watch), []);
        std::fs::write(&file, "one").unwrap();
        // Reading it meanwhile is no reason not to tell the others.
        add(&watch, "README.md");
        assert_eq!((noticed(&watch), noticed(&watch)), (told(Change::Created), vec![]));
        std::fs::write(&file, "three").unwrap();
        assert_eq!((noticed(&watch), noticed(&watch)), (told(Change::Modified), vec![]));
        std::fs::write(team.root().join("new"), "four").unwrap();
        std::fs::rename(team.root().join("new"), &file).unwrap();
        assert_eq!((noticed(&watch), noticed(&watch)), (told(Change::Modified), vec![]));
        std::fs::remove_file(&file).unwrap();
        assert_eq!((noticed(&watch), noticed(&watch)), (told(Change::Deleted), vec![]));
    }

    #[tokio::test]
    async fn a_file_that_is_read_under_several_names_is_announced_once_by_its_path() {
        let team = Team::new().await;
        std::fs::create_dir(team.root().join("sub")).unwrap();
        std::fs::write(team.root().join("sub/50%"), "one").unwrap();
        std::os::unix::fs::symlink("sub/50%", team.root().join("link")).unwrap();
        let whole = team.root().join("sub/50%");
        let watch = watching(&team, &["./sub/50%", "sub/../sub//50%", "link", whole.to_str().unwrap()]);
        std::fs::write(&whole, "three").unwrap();
        assert_eq!(noticed(&watch), [("file://sub/50%25".to_owned(), Change::Modified)]);
    }

    #[tokio::test]
    async fn no_more_than_so_many_are_watched() {
        let team = Team::new().await;
        let watch = watching(&team, &[]);
        for number in 0..=MOST {
            add(&watch, &number.to_string());
        }
        let seen = watch.seen();
        assert_eq!((seen.len(), &*seen[0].uri), (MOST, "file://1"));
    }

    #[tokio::test]
    async fn a_change_is_announced() {
        let team = Team::new().await;
        let watch = watching(&team, &["a"]);
        let (sender, mut heard) = tokio::sync::mpsc::unbounded_channel();
        let running = tokio::spawn(watch.run(move |event| drop(sender.send(event))));
        std::fs::write(team.root().join("a"), "x").unwrap();
        assert_eq!(
            heard.recv().await,
            Some(Event::ResourceUpdated { uri: "file://a".into(), change: Change::Created })
        );
        running.abort();
    }

    #[tokio::test]
    async fn what_a_family_adds_is_asked_too() {
        #[derive(Debug)]
        struct Restless;
        impl Poll for Restless {
            fn changed(&self) -> Vec<(Arc<str>, Change)> {
                vec![("other://x".into(), Change::Deleted)]
            }
        }
        let team = Team::new().await;
        let watch = watching(&team, &["a"]);
        watch.clone().also(Arc::new(Restless));
        std::fs::write(team.root().join("a"), "x").unwrap();
        assert_eq!(watch.all_changed(), [("file://a".into(), Change::Created), ("other://x".into(), Change::Deleted)]);
    }
}
