//! Finding the protected names in the roots and in what the operator lets commands reach besides them, so that they can
//! be hidden from a command. A directory that has not changed since it was last read is not read again.

use std::collections::{HashMap, HashSet};
use std::ffi::{CString, OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use mainstay_core::{Error, Result};
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use super::linux::{Identity, Mask};
use super::reach::{Origin, Reach};
use super::settings::ExecSettings;
use crate::{Guard, PROTECTED, Workspace};

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
    /// What commands reach because of a setting, and what is not looked through inside of it.
    added: Option<(Vec<Added>, HashSet<Identity>)>,
    exempt: Guard,
    most: usize,
}

/// A directory that is held from the beginning: what commands see under its name is this one, whatever becomes of it.
struct Added {
    path: PathBuf,
    handle: OwnedFd,
}

const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

impl Added {
    fn open(path: &Path) -> Result<Self> {
        let handle = rustix::fs::open(path, DIRECTORY.union(OFlags::PATH), Mode::empty())
            .map_err(|errno| Error::internal(format!("{} cannot be opened: {errno}", path.display())))?;
        Ok(Self { path: path.to_owned(), handle })
    }
}

impl Scan {
    pub(crate) fn new(settings: &ExecSettings) -> Self {
        // A guard of these names alone.
        let named = |name: &&str| settings.allow_protected.iter().any(|allowed| allowed.eq_ignore_ascii_case(name));
        let others: Vec<String> = PROTECTED.iter().filter(|name| !named(name)).map(|name| (*name).to_owned()).collect();
        let exempt = Guard::new(&settings.allow_protected, &others);
        Self { known: HashMap::new(), hits: HashSet::new(), added: None, exempt, most: settings.hidden_names }
    }

    /// Every protected name in the roots and in what a setting adds.
    ///
    /// A name that was there before and is not found now may have been moved about while the scan passed by: another
    /// command can do that on purpose. So it is looked for again before it is believed to be gone.
    pub(crate) fn masks(&mut self, workspace: &Workspace, reach: &Reach) -> Result<Vec<Mask>> {
        if self.added.is_none() {
            self.added = Some(added(workspace, reach)?);
        }
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
        let passed_by = HashSet::new();
        let (added, looked_after) = self.added.as_ref().map_or((&[][..], &passed_by), |(added, set)| (added, set));
        let mut walk = Walk {
            old: &self.known,
            new: &mut known,
            workspace,
            passed_by: &passed_by,
            exempt: &self.exempt,
            masks: &mut masks,
            most: self.most,
        };
        for root in workspace.roots() {
            walk.begin(root.handle(), root.path())?;
        }
        walk.passed_by = looked_after;
        for added in added {
            walk.begin(added.handle.as_fd(), &added.path)?;
        }
        self.known = known;
        // A root may lie inside another.
        masks.sort_by(|a: &Mask, b| a.path.cmp(&b.path));
        masks.dedup_by(|a, b| a.path == b.path);
        Ok(masks)
    }
}

/// The directories that a setting adds. The roots inside of them are looked through anyway; programs and toolchains are
/// full of names that look like secrets and are none.
fn added(workspace: &Workspace, reach: &Reach) -> Result<(Vec<Added>, HashSet<Identity>)> {
    let of = |origin| reach.grants.iter().filter(move |grant| grant.origin == origin && grant.directory);
    let added = of(Origin::Setting).map(|grant| Added::open(&grant.path)).collect::<Result<Vec<_>>>()?;
    let mut passed_by = HashSet::new();
    if !added.is_empty() {
        let machine = of(Origin::Machine).filter_map(|grant| rustix::fs::stat(&grant.path).ok());
        let roots = workspace.roots().iter().filter_map(|root| rustix::fs::fstat(root.handle()).ok());
        passed_by.extend(machine.chain(roots).map(|stat| facts_in(&stat).0));
    }
    Ok((added, passed_by))
}

struct Walk<'a> {
    old: &'a HashMap<Identity, Arc<Known>>,
    new: &'a mut HashMap<Identity, Arc<Known>>,
    workspace: &'a Workspace,
    /// Directories that are not entered.
    passed_by: &'a HashSet<Identity>,
    exempt: &'a Guard,
    masks: &'a mut Vec<Mask>,
    most: usize,
}

/// What came of looking into a directory.
#[derive(PartialEq, Eq)]
enum Visit {
    Done,
    /// It was not any more where it had been seen.
    Vanished,
    /// It cannot be looked into. A command could open it up again, so it is hidden as a whole.
    Closed,
}

impl Walk<'_> {
    /// Where a walk begins.
    fn begin(&mut self, handle: BorrowedFd<'_>, path: &Path) -> Result<()> {
        let visit = match rustix::fs::openat(handle, ".", DIRECTORY, Mode::empty()) {
            Ok(directory) => self.visit(directory.as_fd(), path, 0)?,
            Err(Errno::ACCESS) => Visit::Closed,
            Err(errno) => return Err(Error::internal(errno)),
        };
        if visit == Visit::Closed {
            let (identity, _) = facts(handle).map_err(Error::internal)?;
            self.hide(path.to_owned(), identity, true)?;
        }
        Ok(())
    }

    fn visit(&mut self, directory: BorrowedFd<'_>, path: &Path, depth: usize) -> Result<Visit> {
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
                None => match self.read(directory, stamp) {
                    Ok(read) => Arc::new(read),
                    Err(Errno::ACCESS) => return Ok(Visit::Closed),
                    Err(errno) => return Err(Error::internal(errno)),
                },
            };
            if self.enter(directory, path, &known, depth)? == Visit::Done {
                if !is_recent(stamp) {
                    self.new.insert(identity, known);
                }
                return Ok(Visit::Done);
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
        if self.passed_by.contains(&identity) {
            return Ok(Visit::Done);
        }
        let leaf = self.old.get(&identity).filter(|known| known.stamp == stamp && known.subdirectories.is_empty());
        if let Some(known) = leaf.cloned() {
            self.enter(above, &path, &known, depth)?;
            self.new.insert(identity, known);
            return Ok(Visit::Done);
        }
        let visit = match rustix::fs::openat(above, name, DIRECTORY, Mode::empty()) {
            Ok(directory) => self.visit(directory.as_fd(), &path, depth + 1)?,
            Err(Errno::ACCESS) => Visit::Closed,
            Err(_) => return Ok(Visit::Vanished),
        };
        if visit == Visit::Closed {
            self.hide(path, identity, true)?;
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
            let protected = self.protects(name);
            let kind = entry.file_type();
            if !protected && kind != rustix::fs::FileType::Directory && kind != rustix::fs::FileType::Unknown {
                continue;
            }
            let stat = match rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => stat,
                Err(Errno::NOENT) => continue,
                Err(errno) => return Err(errno),
            };
            let kind = rustix::fs::FileType::from_raw_mode(stat.st_mode);
            let is_directory = kind == rustix::fs::FileType::Directory;
            let closed = is_directory && self.is_closed(&stat);
            if closed || (protected && kind != rustix::fs::FileType::Symlink) {
                known.hits.push((name.to_owned(), facts_in(&stat).0, is_directory));
            } else if is_directory {
                known.subdirectories.push(name.to_owned());
            }
        }
        Ok(known)
    }

    /// All roots have the same guard, and what a setting adds has it too.
    fn protects(&self, name: &OsStr) -> bool {
        let guard = self.workspace.roots().first().map(|root| root.guard());
        guard.is_some_and(|guard| guard.protects(name)) && !self.exempt.protects(name)
    }

    fn is_closed(&self, stat: &rustix::fs::Stat) -> bool {
        self.workspace.roots().iter().any(|root| root.is_closed(stat.st_dev, stat.st_ino))
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
    use crate::exec::reach::{Access, Grant};

    fn masks(scan: &mut Scan, workspace: &Workspace) -> Result<Vec<Mask>> {
        scan.masks(workspace, &Reach::of(workspace, &ExecSettings::default()))
    }

    fn found(scan: &mut Scan, workspace: &Workspace) -> Vec<PathBuf> {
        let base = workspace.roots()[0].path().to_owned();
        let masks = masks(scan, workspace).unwrap();
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
    fn the_servers_own_directory_is_hidden_whatever_it_is_called() {
        let (directory, workspace) = tree();
        let workspace = workspace.closing(&directory.path().join("plain")).unwrap();
        std::fs::rename(directory.path().join("plain"), directory.path().join("renamed")).unwrap();
        let found = found(&mut Scan::new(&ExecSettings::default()), &workspace);
        assert!(found.contains(&PathBuf::from("renamed")), "{found:?}");
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

    /// Does something as a user who is not root, on this thread.
    #[expect(unsafe_code, reason = "the user is a thread's own only by the kernel's interface")]
    fn as_nobody<T: Send>(work: impl FnOnce() -> T + Send) -> T {
        const NOBODY: u32 = 65_534;
        let work = || {
            // SAFETY: no pointers. Whoever is somebody else already stays so.
            unsafe { libc::syscall(libc::SYS_setfsuid, NOBODY) };
            work()
        };
        std::thread::scope(|scope| scope.spawn(work).join().unwrap())
    }

    #[test]
    fn what_cannot_be_looked_into_is_hidden_as_a_whole() {
        use std::os::unix::fs::PermissionsExt as _;
        let (directory, workspace) = tree();
        let closed = directory.path().join("a/b");
        let set = |path: &Path, mode| std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        // Whom the rest belongs to must not matter.
        set(directory.path(), 0o755);
        for (mode, what) in
            [(0o311, "not readable"), (0o600, "not searchable"), (0o644, "not searchable"), (0, "neither")]
        {
            set(&closed, mode);
            let found = as_nobody(|| found(&mut Scan::new(&ExecSettings::default()), &workspace));
            set(&closed, 0o755);
            assert_eq!(found, [".env", "a/b", "a/server.key"].map(PathBuf::from), "{what}: {mode:o}");
        }
    }

    #[test]
    fn what_a_setting_adds_is_looked_through_but_not_the_toolchains_in_it() {
        let (directory, workspace) = tree();
        let added = tempfile::tempdir().unwrap();
        let base = added.path().canonicalize().unwrap();
        for name in ["deep/.git", "tools/.git"] {
            std::fs::create_dir_all(base.join(name)).unwrap();
        }
        std::fs::write(base.join(".env"), "s").unwrap();
        let settings = ExecSettings { read: vec![base.clone()], ..Default::default() };
        let mut reach = Reach::of(&workspace, &settings);
        reach.grants.push(Grant {
            path: base.join("tools"),
            access: Access::Read,
            directory: true,
            origin: Origin::Machine,
        });
        let masks = Scan::new(&settings).masks(&workspace, &reach).unwrap();
        let paths: Vec<_> = masks.iter().map(|mask| Path::new(OsStr::from_bytes(mask.path.to_bytes()))).collect();
        let added: Vec<_> = paths.iter().filter_map(|path| path.strip_prefix(&base).ok()).collect();
        assert_eq!(added, [".env", "deep/.git"].map(Path::new));
        assert!(paths.contains(&directory.path().canonicalize().unwrap().join(".env").as_path()));
    }

    #[test]
    fn a_directory_that_is_moved_about_is_not_missed() {
        let (directory, workspace) = tree();
        let (here, there) = (directory.path().join("a"), directory.path().join("plain/a"));
        let mut scan = Scan::new(&ExecSettings::default());
        let identities = |masks: Vec<Mask>| masks.into_iter().map(|mask| mask.identity).collect::<HashSet<_>>();
        let all = identities(masks(&mut scan, &workspace).unwrap());
        let stop = std::sync::atomic::AtomicBool::new(false);
        let missed = std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    std::fs::rename(&here, &there).unwrap();
                    std::fs::rename(&there, &here).unwrap();
                }
            });
            // A scan that says that it cannot be done has missed nothing.
            let scans = (0..200).filter_map(|_| masks(&mut scan, &workspace).ok());
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
        let refused = masks(&mut Scan::new(&settings), &workspace).unwrap_err();
        assert!(refused.public.contains("exec.hidden_names"), "{}", refused.public);
    }
}
