//! The file tree of commands: built from what they may see, and nothing else of the machine.

use std::ffi::{CStr, CString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::fs::{AtFlags, CWD};
use rustix::io::Errno;
use rustix::mount::{MountFlags, MountPropagationFlags, UnmountFlags};

use crate::exec::linux::failure::{Failure, InPhase as _, Phase, Result};
use crate::exec::linux::syscalls::{self, NO_DEV, NO_SUID, READ_ONLY};
use crate::exec::visibility::{Access, Grant, Origin, Visibility};

/// Directories that programs expect, even if they are empty.
const EMPTY: &[&CStr] = &[c"proc", c"dev", c"dev/pts", c"tmp", c"run", c"sys", c"var", c".hidden"];

/// Symbolic links that programs expect: target and path.
const LINKS: &[(&CStr, &CStr)] = &[
    (c"pts/ptmx", c"dev/ptmx"),
    (c"/proc/self/fd", c"dev/fd"),
    (c"/proc/self/fd/0", c"dev/stdin"),
    (c"/proc/self/fd/1", c"dev/stdout"),
    (c"/proc/self/fd/2", c"dev/stderr"),
    (c"/tmp/.shm", c"dev/shm"),
    (c"/tmp", c"var/tmp"),
    (c"/run", c"var/run"),
];

/// The devices that programs expect; each is mounted by itself.
const DEVICES: &[&str] = &["null", "zero", "full", "random", "urandom", "tty"];

/// What is mounted over a protected name: an empty file or directory without permissions, on a read-only mount.
pub(super) const HIDDEN_FILE: &CStr = c"/.hidden/file";
pub(super) const HIDDEN_DIRECTORY: &CStr = c"/.hidden/directory";

/// A part of the machine that is mounted in the tree.
struct Part {
    source: CString,
    /// Where it goes, relative to the new root.
    target: MountPoint,
    attributes: u64,
    mount: Option<OwnedFd>,
}

/// Where something is mounted, and the directories above that may have to be made first.
pub(crate) struct MountPoint {
    pub(super) path: CString,
    parents: Vec<CString>,
    directory: bool,
}

/// Everything that is needed to build the tree, prepared before the fork.
pub(crate) struct FileTree {
    parts: Vec<Part>,
    links: Vec<(CString, CString)>,
    /// What is hidden, and whether it is a directory.
    secrets: Vec<(CString, bool)>,
    /// Parts beneath `/tmp`. Every command has a `/tmp` of its own, so they are mounted again for each.
    pub(crate) below_tmp: Vec<MountPoint>,
}

impl FileTree {
    /// `None` if a path contains a NUL byte.
    pub(crate) fn new(visibility: &Visibility) -> Option<Self> {
        let mut grants: Vec<Grant> = visibility.grants.clone();
        grants.push(Grant { path: "/etc".into(), access: Access::Read, directory: true, origin: Origin::Machine });
        grants.sort_by(|a, b| a.path.cmp(&b.path));
        let mut mounted: Vec<Grant> = Vec::new();
        for grant in grants {
            // Inside a part that is mounted with the same access, it is there already.
            let around = mounted.iter().rev().find(|outer| grant.path.starts_with(&outer.path));
            if around.is_none_or(|outer| outer.access != grant.access) {
                mounted.push(grant);
            }
        }
        let below_tmp = mounted.iter().filter(|grant| grant.path.starts_with("/tmp"));
        let below_tmp = below_tmp.map(|grant| MountPoint::new(&grant.path, "/tmp", grant.directory));
        // Every command replaces /proc by its own before anything can look at it.
        let processes = Part::new(Path::new("/proc"), true, NO_SUID | NO_DEV | READ_ONLY);
        let devices = DEVICES.iter().map(|name| Part::new(&Path::new("/dev").join(name), false, NO_SUID));
        let links = visibility.links.iter().map(|(path, target)| Some((text(target)?, relative(path)?)));
        let secrets = visibility.secrets.iter().map(|path| Some((relative(path)?, path.is_dir())));
        Some(Self {
            below_tmp: below_tmp.collect::<Option<_>>()?,
            parts: mounted.iter().map(Part::for_grant).chain([processes]).chain(devices).collect::<Option<_>>()?,
            links: links.collect::<Option<_>>()?,
            secrets: secrets.collect::<Option<_>>()?,
        })
    }

    /// Builds the tree and makes it the root. Runs in a process of its own, in new namespaces: no allocation.
    pub(super) fn build(&mut self) -> Result<(), Failure> {
        // Nothing that is mounted here may appear outside, nor the other way round.
        let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
        rustix::mount::mount_change(c"/", private).during(Phase::Private)?;
        self.parts.iter_mut().try_for_each(Part::copy).during(Phase::Tree)?;
        mount_tmpfs(c"/tmp", MountFlags::empty(), c"mode=0755,size=16m").during(Phase::Root)?;
        rustix::process::chdir(c"/tmp").during(Phase::Root)?;
        EMPTY.iter().try_for_each(|path| syscalls::make_dir(path, 0o755)).during(Phase::Root)?;
        self.parts.iter_mut().try_for_each(|part| part.target.attach(part.mount.take())).during(Phase::Tree)?;
        LINKS.iter().try_for_each(|(target, path)| make_link(target, path)).during(Phase::Root)?;
        self.links.iter().try_for_each(|(target, path)| make_link(target, path)).during(Phase::Root)?;
        syscalls::make_file(c".hidden/file", 0).during(Phase::Root)?;
        syscalls::make_dir(c".hidden/directory", 0).during(Phase::Root)?;
        syscalls::make_dir(c".hidden/pins", 0).during(Phase::Root)?;
        enter_root().during(Phase::Root)?;
        let attributes = READ_ONLY | NO_SUID | NO_DEV;
        syscalls::set_mount_attributes(CWD, c"/", AtFlags::empty(), attributes).during(Phase::Root)?;
        let hide = |(path, directory): &(CString, bool)| {
            let empty = if *directory { HIDDEN_DIRECTORY } else { HIDDEN_FILE };
            syscalls::attach_mount(syscalls::copy_mount(empty)?, path)
        };
        self.secrets.iter().try_for_each(hide).during(Phase::Mask)
    }
}

impl Part {
    /// A part that is mounted at the same path as on the machine.
    fn new(source: &Path, directory: bool, attributes: u64) -> Option<Self> {
        let target = MountPoint::new(source.strip_prefix("/").ok()?, "", directory)?;
        Some(Self { source: text(source)?, target, attributes, mount: None })
    }

    fn for_grant(grant: &Grant) -> Option<Self> {
        let attributes = match grant.access {
            Access::Read => NO_SUID | NO_DEV | READ_ONLY,
            Access::Write => NO_SUID | NO_DEV,
        };
        Self::new(&grant.path, grant.directory, attributes)
    }

    /// Copies the mounts of the old tree, while it is still there.
    fn copy(&mut self) -> Result<()> {
        let mount = syscalls::copy_mount(&self.source)?;
        let recursive = AtFlags::EMPTY_PATH | AtFlags::from_bits_retain(libc::AT_RECURSIVE.cast_unsigned());
        syscalls::set_mount_attributes(&mount, c"", recursive, self.attributes)?;
        self.mount = Some(mount);
        Ok(())
    }
}

impl MountPoint {
    /// Needs the directories above the path only as far as they are inside `top`.
    fn new(path: &Path, top: &str, directory: bool) -> Option<Self> {
        let inside = |parent: &&Path| parent.starts_with(top) && **parent != *Path::new(top);
        let mut above: Vec<&Path> = path.ancestors().skip(1).filter(inside).collect();
        // From the outermost.
        above.reverse();
        let parents = above.into_iter().map(text).collect::<Option<_>>()?;
        Some(Self { path: text(path)?, parents, directory })
    }

    /// Attaches a mount here. Inside a part that is mounted already the path exists and cannot be created: if it does
    /// not, attaching fails.
    pub(super) fn attach(&self, mount: Option<OwnedFd>) -> Result<()> {
        let inside = [Errno::ROFS, Errno::ACCESS, Errno::PERM];
        for parent in &self.parents {
            syscalls::tolerate(syscalls::make_dir(parent, 0o755), &inside)?;
        }
        let make = if self.directory { syscalls::make_dir } else { syscalls::make_file };
        syscalls::tolerate(make(&self.path, if self.directory { 0o755 } else { 0o644 }), &inside)?;
        syscalls::attach_mount(mount.ok_or(Errno::BADF)?, &self.path)
    }
}

pub(super) fn mount_tmpfs(target: &CStr, flags: MountFlags, options: &CStr) -> Result<()> {
    rustix::mount::mount(c"tmpfs", target, c"tmpfs", flags, options)
}

/// Makes a symbolic link, unless something has its name, or nothing else in its directory is visible.
fn make_link(target: &CStr, path: &CStr) -> Result<()> {
    syscalls::tolerate(rustix::fs::symlink(target, path), &[Errno::EXIST, Errno::NOENT])
}

/// Makes the current directory the root, and detaches the old one.
fn enter_root() -> Result<()> {
    rustix::process::pivot_root(c".", c".")?;
    rustix::mount::unmount(c".", UnmountFlags::DETACH)?;
    rustix::process::chdir(c"/")
}

/// `None` if a path contains a NUL byte.
fn text(path: &Path) -> Option<CString> {
    CString::new(path.as_os_str().as_bytes()).ok()
}

fn relative(path: &Path) -> Option<CString> {
    text(path.strip_prefix("/").ok()?)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn tree(grants: &[(&str, Access)]) -> FileTree {
        let grants = grants.iter().map(|(path, access)| Grant {
            path: path.into(),
            access: *access,
            directory: true,
            origin: Origin::Root,
        });
        let visibility =
            Visibility { grants: grants.collect(), secrets: Vec::new(), links: Vec::new(), variables: BTreeMap::new() };
        FileTree::new(&visibility).unwrap()
    }

    fn targets(tree: &FileTree) -> Vec<&str> {
        let targets = tree.parts.iter().map(|part| part.target.path.to_str().unwrap());
        targets.filter(|target| !target.starts_with("dev/") && *target != "proc").collect()
    }

    #[test]
    fn what_is_there_already_is_not_mounted_twice() {
        let tree = tree(&[("/usr", Access::Read), ("/usr/share", Access::Read), ("/etc/passwd", Access::Read)]);
        assert_eq!(targets(&tree), ["etc", "usr"]);
    }

    #[test]
    fn a_part_with_other_rights_inside_another_is_mounted_by_itself() {
        let tree = tree(&[("/w", Access::Write), ("/w/lib", Access::Read), ("/w/lib/own", Access::Write)]);
        assert_eq!(targets(&tree), ["etc", "w", "w/lib", "w/lib/own"]);
    }

    #[test]
    fn parents_are_made_from_the_outermost() {
        let tree = tree(&[("/a/b/work", Access::Write), ("/tmp/a/b", Access::Write)]);
        let part = tree.parts.iter().find(|part| part.target.path.as_c_str() == c"a/b/work").unwrap();
        assert_eq!(part.target.parents, [CString::from(c"a"), CString::from(c"a/b")]);
        assert_eq!(tree.below_tmp.len(), 1);
        assert_eq!(tree.below_tmp[0].parents, [CString::from(c"/tmp/a")]);
    }
}
