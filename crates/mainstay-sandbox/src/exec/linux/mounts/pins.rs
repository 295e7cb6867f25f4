//! Directories that a command can neither rename nor remove.
//!
//! A mask, or a mount with rights of its own, protects what is below it, but not its path: whoever may rename a directory
//! above it can put another in its place, which the server, or a person's `git`, finds there later. The kernel refuses to
//! rename or remove a mount point, by whatever path it is named, to everybody in the same mount namespace. So a copy of
//! the tree is mounted where no command can see it, and something empty over each directory in the copy. The tree itself
//! has no more mounts than before: files can be moved in and out of a pinned directory as always.

use std::collections::BTreeSet;
use std::ffi::{CStr, CString, OsStr};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use mainstay_core::{Error, Result};
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::mount::MoveMountFlags;

use super::tree::{HIDDEN_DIRECTORY, HIDDEN_FILE};
use crate::exec::linux::failure::{Failure, InPhase as _, Phase};
use crate::exec::linux::syscalls;
use crate::exec::visibility::{Access, Origin, Visibility};
use crate::workspace::Workspace;

/// Where the copies are mounted, one over the other, and covered at the end.
const COPIES: &CStr = c"/.hidden/pins";

/// Finds what has to be pinned.
pub(crate) struct PinFinder {
    /// What commands may change, without what is inside of another such directory: these are mount points themselves.
    writable: Vec<PathBuf>,
    /// The same for every command: paths inside of those that have a rule of their own, and the directories above.
    fixed: BTreeSet<Pin>,
}

/// A path to pin.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Pin {
    path: PathBuf,
    directory: bool,
}

/// A tree and what is pinned in it, ready for use after the fork.
#[derive(Debug)]
pub(crate) struct PinnedTree {
    source: CString,
    /// Paths in the copy, and whether each is a directory.
    pins: Vec<(CString, bool)>,
}

impl PinFinder {
    /// Finds what is the same for every command.
    pub(crate) fn new(visibility: &Visibility, workspace: &Workspace) -> Self {
        let closed = workspace.closed.iter().map(|closed| closed.path.as_path());
        Self::build(visibility, closed)
    }

    /// `closed` are the server's own directories: they are hidden, and whoever renames a directory above one of them
    /// decides what the next start finds there.
    fn build<'a>(visibility: &Visibility, closed: impl Iterator<Item = &'a Path>) -> Self {
        let grants = || visibility.grants.iter();
        let mut writable: Vec<PathBuf> = Vec::new();
        // Parents come before what is inside them.
        for grant in grants().filter(|grant| grant.access == Access::Write) {
            if !writable.iter().any(|outer| grant.path.starts_with(outer)) {
                writable.push(grant.path.clone());
            }
        }
        let mut finder = Self { writable, fixed: BTreeSet::new() };
        for path in closed {
            finder.fixed.extend(finder.above(path));
        }
        for grant in grants() {
            finder.fixed.extend(finder.above(&grant.path));
            // A root, or a path from a setting, is opened by its path at the next start.
            let inside = finder.writable.iter().any(|outer| grant.path != *outer && grant.path.starts_with(outer));
            if inside && grant.origin != Origin::Machine {
                finder.fixed.insert(Pin { path: grant.path.clone(), directory: grant.directory });
            }
        }
        finder
    }

    /// The directories above a path that commands could rename.
    fn above(&self, path: &Path) -> Vec<Pin> {
        let Some(outer) = self.writable.iter().find(|outer| path.starts_with(outer)) else { return Vec::new() };
        let between = path.ancestors().skip(1).take_while(|above| above != outer && above.starts_with(outer));
        between.map(|above| Pin { path: above.to_owned(), directory: true }).collect()
    }

    /// What to pin for a command so that nothing takes the place of these paths. Whoever hides them limits their number.
    pub(crate) fn find<'a>(&self, in_place: impl Iterator<Item = &'a Path>) -> Result<Vec<PinnedTree>> {
        let mut pins = self.fixed.clone();
        for path in in_place {
            pins.extend(self.above(path));
        }
        let trees = self.writable.iter().filter_map(|outer| PinnedTree::new(outer, &pins).transpose());
        trees.collect()
    }
}

impl PinnedTree {
    /// Those of the pins that are in this tree; `None` if there are none.
    fn new(outer: &Path, pins: &BTreeSet<Pin>) -> Result<Option<Self>> {
        let text = |bytes: &[u8]| CString::new(bytes).map_err(Error::internal);
        let copies = Path::new(OsStr::from_bytes(COPIES.to_bytes()));
        // The innermost first: what is below a pinned directory is not found in the copy any more.
        let innermost_first = pins.iter().rev();
        let inside =
            innermost_first.filter_map(|pin| Some((copies.join(pin.path.strip_prefix(outer).ok()?), pin.directory)));
        let pins: Vec<(CString, bool)> = inside
            .map(|(path, directory)| Ok((text(path.as_os_str().as_bytes())?, directory)))
            .collect::<Result<_>>()?;
        let source = text(outer.as_os_str().as_bytes())?;
        Ok((!pins.is_empty()).then_some(Self { source, pins }))
    }

    /// Mounts a copy of the tree over the previous one, and something empty over each pinned path in it. Runs in the
    /// supervisor of a command: no allocation.
    fn mount(&self) -> rustix::io::Result<()> {
        syscalls::attach_mount(syscalls::copy_mount(&self.source)?, COPIES)?;
        for (path, directory) in &self.pins {
            let target = match syscalls::open_path(path, OFlags::NOFOLLOW) {
                // It was moved meanwhile. Then what is hidden below it has moved too, which is noticed when it is hidden.
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => continue,
                other => other?,
            };
            let empty = syscalls::copy_mount(if *directory { HIDDEN_DIRECTORY } else { HIDDEN_FILE })?;
            let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
            rustix::mount::move_mount(&empty, c"", &target, c"", flags)?;
        }
        Ok(())
    }
}

/// Pins everything in this process's mount namespace, and hides the copies: protected names are not hidden in them.
pub(super) fn pin(trees: &[PinnedTree]) -> Result<(), Failure> {
    if trees.is_empty() {
        return Ok(());
    }
    trees.iter().try_for_each(PinnedTree::mount).during(Phase::Mask)?;
    syscalls::copy_mount(HIDDEN_DIRECTORY).and_then(|cover| syscalls::attach_mount(cover, COPIES)).during(Phase::Mask)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::visibility::Grant;

    fn grant(path: &str, access: Access, origin: Origin) -> Grant {
        Grant { path: path.into(), access, directory: true, origin }
    }

    fn pinned(grants: Vec<Grant>, in_place: &[&str]) -> Vec<String> {
        let visibility = Visibility { grants, ..Visibility::default() };
        let finder = PinFinder::build(&visibility, std::iter::empty());
        let trees = finder.find(in_place.iter().map(Path::new)).unwrap();
        let text = |path: &CString| path.to_str().unwrap().strip_prefix("/.hidden/pins/").unwrap().to_owned();
        trees.iter().flat_map(|tree| tree.pins.iter().map(|(path, _)| text(path))).collect()
    }

    #[test]
    fn the_directories_above_protected_ones_are_pinned() {
        let work = || vec![grant("/w", Access::Write, Origin::Root)];
        assert!(pinned(work(), &["/w/.git", "/elsewhere/a/.git"]).is_empty());
        assert_eq!(pinned(work(), &["/w/a/b/.git", "/w/a/c/.ssh"]), ["a/c", "a/b", "a"]);
    }

    #[test]
    fn paths_with_rules_of_their_own_are_pinned_and_so_is_what_is_above_them() {
        let grants = vec![
            grant("/home", Access::Write, Origin::Root),
            grant("/home/.local/share/uv", Access::Read, Origin::Machine),
            grant("/home/docs/kept", Access::Read, Origin::Root),
            grant("/home/out", Access::Write, Origin::Setting),
            grant("/usr", Access::Read, Origin::Machine),
        ];
        assert_eq!(pinned(grants, &[]), ["out", "docs/kept", "docs", ".local/share", ".local"]);
    }

    #[test]
    fn directories_above_the_servers_own_are_pinned_whatever_those_are_called() {
        let visibility =
            Visibility { grants: vec![grant("/home", Access::Write, Origin::Root)], ..Visibility::default() };
        let closed = [Path::new("/home/.config/mainstay"), Path::new("/elsewhere/data")];
        let finder = PinFinder::build(&visibility, closed.into_iter());
        let fixed: Vec<&Path> = finder.fixed.iter().map(|pin| pin.path.as_path()).collect();
        assert_eq!(fixed, [Path::new("/home/.config")]);
    }
}
