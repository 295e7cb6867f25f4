//! Changes of directories of the workspace, as the kernel reports them.

use std::ffi::OsString;

use crate::Dir;

/// The number of a watched directory. A directory keeps it when it is moved.
pub type DirWatchId = i32;

/// Why changes are not known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WatchError {
    /// Some were missed; from now on they are reported again.
    Missed,
    /// There will be no reports, for this reason.
    Unwatchable(String),
}

/// Something has changed in a watched directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirChange {
    pub directory: DirWatchId,
    /// The entry that was added, removed or written; `None` if it is about the directory itself.
    pub name: Option<OsString>,
    /// Whether that entry is a directory.
    pub is_directory: bool,
    /// The directory is not watched any more, because it does not exist.
    pub is_gone: bool,
}

/// Watches directories for entries that are added, removed or written. It reports which to look at, not what happened:
/// by the time of the report it may be something else.
pub struct DirWatcher(platform::Watcher);

impl DirWatcher {
    /// For directories below `top`. Fails where files could change without a report: on a network file system, or if
    /// another file system is mounted inside.
    pub fn new(top: &Dir) -> Result<Self, WatchError> {
        platform::Watcher::new(top).map(Self)
    }

    /// Watches a directory, without those in it. What changes after this returns is reported.
    pub fn add(&self, directory: &Dir) -> Result<DirWatchId, WatchError> {
        self.0.add(directory)
    }

    /// What has changed since the last time. Does not wait.
    pub fn changes(&self) -> Result<Vec<DirChange>, WatchError> {
        self.0.changes()
    }
}

#[cfg(all(target_os = "linux", not(mainstay_unsupported)))]
mod platform {
    use std::os::fd::AsFd as _;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use rustix::fs::inotify::WatchFlags;

    use super::{Dir, DirChange, DirWatchId, WatchError};
    use crate::inotify::{self, Lost};

    /// Writing, too: most changes do not add or remove a name. Attributes, because they decide whether a file can be read.
    const NOTICED: WatchFlags = WatchFlags::CREATE
        .union(WatchFlags::DELETE)
        .union(WatchFlags::MOVED_FROM)
        .union(WatchFlags::MOVED_TO)
        .union(WatchFlags::MODIFY)
        .union(WatchFlags::CLOSE_WRITE)
        .union(WatchFlags::ATTRIB);

    pub(super) struct Watcher {
        watcher: inotify::Watcher,
        /// How many directories were added. Those that are gone count as well, which errs on the safe side of the limit.
        added: AtomicUsize,
    }

    impl From<Lost> for WatchError {
        fn from(lost: Lost) -> Self {
            match lost {
                Lost::Notices => Self::Missed,
                Lost::Unwatchable(why) => Self::Unwatchable(why),
            }
        }
    }

    impl Watcher {
        pub(super) fn new(top: &Dir) -> Result<Self, WatchError> {
            inotify::check_watchable(top.as_fd(), &top.absolute(), &inotify::mount_points()?)?;
            Ok(Self { watcher: inotify::Watcher::new(NOTICED)?, added: AtomicUsize::new(0) })
        }

        pub(super) fn add(&self, directory: &Dir) -> Result<DirWatchId, WatchError> {
            let nth = self.added.fetch_add(1, Ordering::Relaxed);
            let cannot = |errno| WatchError::Unwatchable(format!("{} cannot be watched: {errno}", directory.display()));
            self.watcher.add(directory.as_fd(), nth)?.map_err(cannot)
        }

        pub(super) fn changes(&self) -> Result<Vec<DirChange>, WatchError> {
            let mut changes: Vec<DirChange> = Vec::new();
            self.watcher.read(|notice| {
                let change = DirChange {
                    directory: notice.watch,
                    name: notice.name.map(Into::into),
                    is_directory: notice.is_directory,
                    is_gone: notice.is_gone,
                };
                // A file that is written piece by piece is reported for each.
                if changes.last() != Some(&change) {
                    changes.push(change);
                }
            })?;
            Ok(changes)
        }
    }
}

#[cfg(any(not(target_os = "linux"), mainstay_unsupported))]
mod platform {
    use super::{Dir, DirChange, DirWatchId, WatchError};

    /// There are none on this system.
    pub(super) enum Watcher {}

    impl Watcher {
        pub(super) fn new(_top: &Dir) -> Result<Self, WatchError> {
            Err(WatchError::Unwatchable("this system has no inotify".to_owned()))
        }

        pub(super) fn add(&self, _directory: &Dir) -> Result<DirWatchId, WatchError> {
            match *self {}
        }

        pub(super) fn changes(&self) -> Result<Vec<DirChange>, WatchError> {
            match *self {}
        }
    }
}

#[cfg(test)]
#[cfg(all(target_os = "linux", not(mainstay_unsupported)))]
mod tests {
    use super::*;
    use crate::{FilesSettings, Workspace};

    fn names(watcher: &DirWatcher) -> Vec<String> {
        let changes = watcher.changes().unwrap();
        let mut names: Vec<String> = changes.into_iter().filter_map(|change| change.name?.into_string().ok()).collect();
        names.dedup();
        names
    }

    #[test]
    fn entries_that_are_added_written_moved_and_removed_are_reported() {
        let directory = tempfile::tempdir().unwrap();
        let (a, b) = (directory.path().join("a"), directory.path().join("b"));
        let top = Workspace::open(directory.path(), &FilesSettings::default()).unwrap().find(".").unwrap();
        let top = top.open_dir().unwrap();
        let watcher = DirWatcher::new(&top).unwrap();
        let id = watcher.add(&top).unwrap();
        assert_eq!(watcher.add(&top).unwrap(), id);
        assert_eq!(names(&watcher), [""; 0]);
        std::fs::write(&a, "1").unwrap();
        assert_eq!(names(&watcher), ["a"]);
        std::fs::write(&a, "2").unwrap();
        assert_eq!(names(&watcher), ["a"]);
        std::fs::rename(&a, &b).unwrap();
        assert_eq!(names(&watcher), ["a", "b"]);
        std::fs::remove_file(&b).unwrap();
        assert_eq!(names(&watcher), ["b"]);
        std::fs::create_dir(&a).unwrap();
        assert!(watcher.changes().unwrap().iter().all(|change| change.is_directory && change.directory == id));
    }
}
