//! Finding the protected names in the roots, so that they can be hidden from a command. A directory that has not
//! changed since it was last read is not read again.

use std::collections::{HashMap, HashSet};
use std::ffi::{CString, OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use mainstay_core::{Error, Result};
use rustix::fs::{AtFlags, Mode, OFlags};

use super::linux::{Identity, Mask};
use super::settings::ExecSettings;
use crate::{Guard, PROTECTED, Root, Workspace};

/// Deeper than any tree that is worked on; a path longer than the kernel takes could not be hidden anyway.
const DEEPEST: usize = 256;

/// How often a directory is read again that changes while it is looked at.
const LOOKS: usize = 16;

/// What is known of one directory.
#[derive(Debug)]
struct Known {
    stamp: Stamp,
    subdirectories: Vec<OsString>,
    hits: Vec<(OsString, Identity, bool)>,
}

/// When a directory was changed: as long as it stays the same, so do its entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    modified: (i64, i64),
    changed: (i64, i64),
}

pub(crate) struct Scan {
    known: HashMap<Identity, Arc<Known>>,
    /// What was found the last time.
    hits: HashSet<Identity>,
    exempt: Guard,
    most: usize,
}

impl Scan {
    pub(crate) fn new(settings: &ExecSettings) -> Self {
        // A guard of these names alone.
        let named = |name: &&str| settings.allow_protected.iter().any(|allowed| allowed.eq_ignore_ascii_case(name));
        let others: Vec<String> = PROTECTED.iter().filter(|name| !named(name)).map(|name| (*name).to_owned()).collect();
        let exempt = Guard::new(&settings.allow_protected, &others);
        Self { known: HashMap::new(), hits: HashSet::new(), exempt, most: settings.hidden_names }
    }

    /// Every protected name in the roots.
    ///
    /// A name that was there before and is not found now may have been moved about while the scan passed by: another
    /// command can do that on purpose. So it is looked for again before it is believed to be gone.
    pub(crate) fn masks(&mut self, workspace: &Workspace) -> Result<Vec<Mask>> {
        let mut masks = self.pass(workspace)?;
        for _ in 0..LOOKS {
            let found: HashSet<Identity> = masks.iter().map(|mask| mask.identity).collect();
            if self.hits.is_subset(&found) {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
            masks = self.pass(workspace)?;
        }
        self.hits = masks.iter().map(|mask| mask.identity).collect();
        Ok(masks)
    }

    fn pass(&mut self, workspace: &Workspace) -> Result<Vec<Mask>> {
        let mut known = HashMap::with_capacity(self.known.len());
        let mut masks = Vec::new();
        for root in workspace.roots() {
            let mut walk = Walk {
                old: &self.known,
                new: &mut known,
                root,
                exempt: &self.exempt,
                masks: &mut masks,
                most: self.most,
            };
            walk.visit(root.handle(), root.path(), 0)?;
        }
        self.known = known;
        // A root may lie inside another.
        masks.sort_by(|a: &Mask, b| a.path.cmp(&b.path));
        masks.dedup_by(|a, b| a.path == b.path);
        Ok(masks)
    }
}

struct Walk<'a> {
    old: &'a HashMap<Identity, Arc<Known>>,
    new: &'a mut HashMap<Identity, Arc<Known>>,
    root: &'a Root,
    exempt: &'a Guard,
    masks: &'a mut Vec<Mask>,
    most: usize,
}

/// Whether a directory was still where it had been seen.
#[derive(PartialEq, Eq)]
enum Visit {
    Done,
    Vanished,
}

impl Walk<'_> {
    fn visit(&mut self, directory: BorrowedFd<'_>, path: &Path, depth: usize) -> Result<()> {
        if depth > DEEPEST {
            return Err(Error::unavailable(format!(
                "A directory lies more than {DEEPEST} levels deep, so protected names in it could not be hidden from a command."
            )));
        }
        let before = self.masks.len();
        for look in 0..LOOKS {
            let (identity, stamp) = facts(directory).map_err(Error::internal)?;
            let known = match self.old.get(&identity).filter(|known| known.stamp == stamp && look == 0) {
                Some(known) => known.clone(),
                None => Arc::new(self.read(directory, stamp).map_err(Error::internal)?),
            };
            if self.enter(directory, path, &known, depth)? == Visit::Done {
                if !is_recent(stamp) {
                    self.new.insert(identity, known);
                }
                return Ok(());
            }
            self.masks.truncate(before);
        }
        Err(Error::unavailable(
            "The workspace changes too quickly to hide protected names from a command; try again when it is calmer.",
        ))
    }

    fn enter(&mut self, directory: BorrowedFd<'_>, path: &Path, known: &Known, depth: usize) -> Result<Visit> {
        for (name, identity, is_directory) in &known.hits {
            self.hide(path.join(name), *identity, *is_directory)?;
        }
        for name in &known.subdirectories {
            if self.descend(directory, path, name, depth)? == Visit::Vanished {
                return Ok(Visit::Vanished);
            }
        }
        Ok(Visit::Done)
    }

    fn descend(&mut self, above: BorrowedFd<'_>, path: &Path, name: &OsStr, depth: usize) -> Result<Visit> {
        let path = path.join(name);
        let Ok(stat) = rustix::fs::statat(above, name, AtFlags::SYMLINK_NOFOLLOW) else { return Ok(Visit::Vanished) };
        let (identity, stamp) = facts_in(&stat);
        let leaf = self.old.get(&identity).filter(|known| known.stamp == stamp && known.subdirectories.is_empty());
        if let Some(known) = leaf.cloned() {
            self.enter(above, &path, &known, depth)?;
            self.new.insert(identity, known);
            return Ok(Visit::Done);
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match rustix::fs::openat(above, name, flags, Mode::empty()) {
            Ok(directory) => self.visit(directory.as_fd(), &path, depth + 1)?,
            // A command could open it up again: what cannot be looked into is hidden as a whole.
            Err(rustix::io::Errno::ACCESS) => self.hide(path, identity, true)?,
            Err(_) => return Ok(Visit::Vanished),
        }
        Ok(Visit::Done)
    }

    fn read(&self, directory: BorrowedFd<'_>, stamp: Stamp) -> rustix::io::Result<Known> {
        let mut known = Known { stamp, subdirectories: Vec::new(), hits: Vec::new() };
        for entry in rustix::fs::Dir::read_from(directory)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            let protected = self.root.guard().protects(name) && !self.exempt.protects(name);
            let kind = entry.file_type();
            if !protected && kind != rustix::fs::FileType::Directory && kind != rustix::fs::FileType::Unknown {
                continue;
            }
            let Ok(stat) = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
            let kind = rustix::fs::FileType::from_raw_mode(stat.st_mode);
            let is_directory = kind == rustix::fs::FileType::Directory;
            if protected && kind != rustix::fs::FileType::Symlink {
                known.hits.push((name.to_owned(), facts_in(&stat).0, is_directory));
            } else if is_directory {
                known.subdirectories.push(name.to_owned());
            }
        }
        Ok(known)
    }

    fn hide(&mut self, path: PathBuf, identity: Identity, directory: bool) -> Result<()> {
        if self.masks.len() >= self.most {
            return Err(Error::unavailable(format!(
                "There are more than {} protected names to hide from a command; raise exec.hidden_names, or exempt some \
                 with exec.allow_protected.",
                self.most
            )));
        }
        let path = CString::new(path.into_os_string().into_vec()).map_err(Error::internal)?;
        self.masks.push(Mask { path, identity, directory });
        Ok(())
    }
}

fn facts(handle: BorrowedFd<'_>) -> rustix::io::Result<(Identity, Stamp)> {
    rustix::fs::fstat(handle).map(|stat| facts_in(&stat))
}

fn facts_in(stat: &rustix::fs::Stat) -> (Identity, Stamp) {
    let time = |seconds: i64, nanoseconds: u64| (seconds, i64::try_from(nanoseconds).unwrap_or(0));
    let stamp =
        Stamp { modified: time(stat.st_mtime, stat.st_mtime_nsec), changed: time(stat.st_ctime, stat.st_ctime_nsec) };
    ((stat.st_dev, stat.st_ino), stamp)
}

/// A directory changed just now may change again within the same tick of the file system's clock, unnoticed.
fn is_recent(stamp: Stamp) -> bool {
    const TICK: i64 = 50_000_000;
    let now = rustix::time::clock_gettime(rustix::time::ClockId::RealtimeCoarse);
    let nanoseconds = |(seconds, rest): (i64, i64)| seconds.saturating_mul(1_000_000_000).saturating_add(rest);
    nanoseconds((now.tv_sec, now.tv_nsec)) - nanoseconds(stamp.changed) < TICK
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::FilesSettings;

    fn found(scan: &mut Scan, workspace: &Workspace) -> Vec<PathBuf> {
        let base = workspace.roots()[0].path().to_owned();
        let masks = scan.masks(workspace).unwrap();
        let path = |mask: Mask| PathBuf::from(OsString::from_vec(mask.path.into_bytes()));
        masks.into_iter().map(|mask| path(mask).strip_prefix(&base).unwrap().to_owned()).collect()
    }

    fn tree() -> (tempfile::TempDir, Workspace) {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        std::fs::create_dir_all(at("a/b/.git/objects")).unwrap();
        std::fs::create_dir_all(at("plain")).unwrap();
        std::fs::write(at(".env"), "s").unwrap();
        std::fs::write(at("a/server.key"), "s").unwrap();
        std::fs::write(at("a/code.rs"), "s").unwrap();
        symlink("/etc", at("plain/.ssh")).unwrap();
        symlink("..", at("plain/up")).unwrap();
        let workspace = Workspace::open(directory.path(), &FilesSettings::default()).unwrap();
        (directory, workspace)
    }

    #[test]
    fn protected_names_are_found_at_every_depth_and_links_are_not_followed() {
        let (_directory, workspace) = tree();
        let mut scan = Scan::new(&ExecSettings::default());
        assert_eq!(found(&mut scan, &workspace), [".env", "a/b/.git", "a/server.key"].map(PathBuf::from));
    }

    #[test]
    fn a_second_scan_sees_what_has_changed() {
        let (directory, workspace) = tree();
        let mut scan = Scan::new(&ExecSettings::default());
        found(&mut scan, &workspace);
        std::fs::rename(directory.path().join("a/server.key"), directory.path().join("plain/server.key")).unwrap();
        std::fs::remove_file(directory.path().join(".env")).unwrap();
        assert_eq!(found(&mut scan, &workspace), ["a/b/.git", "plain/server.key"].map(PathBuf::from));
    }

    #[test]
    fn what_cannot_be_looked_into_is_hidden_as_a_whole() {
        use std::os::unix::fs::PermissionsExt as _;
        let (directory, workspace) = tree();
        let closed = directory.path().join("a/b");
        std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o311)).unwrap();
        let found = found(&mut Scan::new(&ExecSettings::default()), &workspace);
        std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o755)).unwrap();
        // Root can look into everything.
        let hidden = if rustix::process::geteuid().is_root() { "a/b/.git" } else { "a/b" };
        assert_eq!(found, [".env", hidden, "a/server.key"].map(PathBuf::from));
    }

    #[test]
    fn a_directory_that_is_moved_about_is_not_missed() {
        let (directory, workspace) = tree();
        let (here, there) = (directory.path().join("a"), directory.path().join("plain/a"));
        let mut scan = Scan::new(&ExecSettings::default());
        let identities = |masks: Vec<Mask>| masks.into_iter().map(|mask| mask.identity).collect::<HashSet<_>>();
        let all = identities(scan.masks(&workspace).unwrap());
        let stop = std::sync::atomic::AtomicBool::new(false);
        let missed = std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    std::fs::rename(&here, &there).unwrap();
                    std::fs::rename(&there, &here).unwrap();
                }
            });
            // A scan that says that it cannot be done has missed nothing.
            let scans = (0..200).filter_map(|_| scan.masks(&workspace).ok());
            let missed = scans.filter(|masks| !identities(masks.clone()).is_superset(&all)).count();
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
            missed
        });
        assert_eq!(missed, 0);
    }

    #[test]
    fn what_the_operator_allows_is_not_hidden() {
        let (_directory, workspace) = tree();
        let settings = ExecSettings { allow_protected: vec![".git".into(), "*.key".into()], ..Default::default() };
        assert_eq!(found(&mut Scan::new(&settings), &workspace), [PathBuf::from(".env")]);
    }

    #[test]
    fn more_names_than_can_be_hidden_are_refused_with_the_setting_to_change() {
        let (_directory, workspace) = tree();
        let settings = ExecSettings { hidden_names: 2, ..Default::default() };
        let refused = Scan::new(&settings).masks(&workspace).unwrap_err();
        assert!(refused.public.contains("exec.hidden_names"), "{}", refused.public);
    }
}
