//! What every command has for itself: `/tmp`, `/proc`, its terminals, and no protected names.
//!
//! Runs in the supervisor of a command, between fork and exec: no allocation.

use std::ffi::{CStr, CString, OsStr};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, OFlags};
use rustix::io::Errno;
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, MountFlags, MoveMountFlags, UnmountFlags};
use rustix::time::Timespec;

use super::namespaces::Namespaces;
use super::pins::{self, PinnedTree};
use super::tree::{HIDDEN_DIRECTORY, HIDDEN_FILE, MountPoint, mount_tmpfs};
use crate::exec::linux::failure::{Failure, InPhase as _, Phase, Result};
use crate::exec::linux::syscalls;
use crate::identity::FileId;

/// A protected file or directory that is hidden from a command.
#[derive(Debug, Clone)]
pub(crate) struct Mask {
    pub(crate) path: CString,
    pub(crate) identity: FileId,
    pub(crate) directory: bool,
    /// Whether nothing may take its place: the command can rename no directory above it.
    pub(crate) keeps_place: bool,
    pub(crate) kind: MaskKind,
}

/// Why something is hidden.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MaskKind {
    /// Its name is protected, or it cannot be searched.
    Name,
    /// It was hidden before and a search has not found it, mostly because it is inside something hidden now.
    Located,
    /// It is a directory with too many protected names below it.
    Crowded,
}

impl Mask {
    pub(crate) fn path(&self) -> &Path {
        Path::new(OsStr::from_bytes(self.path.to_bytes()))
    }
}

/// How many parts of the tree may be beneath `/tmp`: their mounts are kept in an array, since nothing may allocate.
pub(crate) const MAX_BELOW_TMP: usize = 64;

/// Mounts all of it in this process's mount namespace.
pub(crate) fn set_up(
    namespaces: &Namespaces,
    tmp_options: &CStr,
    max_pid: &CStr,
    pinned: &[PinnedTree],
    masks: &[Mask],
) -> Result<(), Failure> {
    mount_tmp(&namespaces.below_tmp, tmp_options).during(Phase::Temporary)?;
    mount_proc(max_pid.to_bytes()).during(Phase::Processes)?;
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    let options = c"newinstance,ptmxmode=0666,mode=0620";
    rustix::mount::mount(c"devpts", c"/dev/pts", c"devpts", flags, options).during(Phase::Devices)?;
    // Before the masks: what they are compared with cannot be moved by this command any more.
    pins::pin(pinned)?;
    let mut waits = MAX_WAITS;
    masks.iter().enumerate().try_for_each(|(nth, mask)| hide_when_there(nth, mask, &mut waits))
}

/// Mounts an empty `/tmp`, and on it again the parts of the tree that are beneath `/tmp`.
fn mount_tmp(below: &[MountPoint], options: &CStr) -> Result<()> {
    let mut mounts = [const { None::<OwnedFd> }; MAX_BELOW_TMP];
    for (mount, part) in mounts.iter_mut().zip(below) {
        *mount = Some(syscalls::copy_mount(&part.path)?);
    }
    mount_tmpfs(c"/tmp", MountFlags::NOSUID | MountFlags::NODEV, options)?;
    syscalls::make_dir(c"/tmp/home", 0o700)?;
    syscalls::make_dir(c"/tmp/.shm", 0o700)?;
    for (mount, part) in mounts.iter_mut().zip(below) {
        part.attach(mount.take())?;
    }
    Ok(())
}

/// Replaces the machine's `/proc` by one of the command's process namespace. The machine's had to stay until now: the
/// kernel creates a new one only for a process that sees a complete one. Where parts of it are hidden, as in some
/// containers, the command has none at all.
fn mount_proc(max_pid: &[u8]) -> Result<()> {
    let proc = new_proc();
    rustix::mount::unmount(c"/proc", UnmountFlags::DETACH)?;
    let proc = match proc {
        Err(Errno::PERM) => return Ok(()),
        other => other?,
    };
    syscalls::attach_mount(proc, c"/proc")?;
    if !max_pid.is_empty() {
        // Only the owner of the namespace may; for other users there is a resource limit.
        let _ = syscalls::write_file(c"/proc/sys/kernel/pid_max", max_pid);
    }
    // When memory runs out, the kernel ends a command before anything else.
    syscalls::write_file(c"/proc/self/oom_score_adj", b"1000")?;
    syscalls::set_mount_attributes(CWD, c"/proc", AtFlags::empty(), syscalls::READ_ONLY)
}

/// A new `/proc` that is not attached yet. It does not list processes that the viewer may not trace: not the
/// supervisor, whose command line is the server's.
fn new_proc() -> Result<OwnedFd> {
    let context = rustix::mount::fsopen(c"proc", FsOpenFlags::FSOPEN_CLOEXEC)?;
    rustix::mount::fsconfig_set_string(&context, c"hidepid", c"ptraceable")?;
    rustix::mount::fsconfig_create(&context)?;
    let attributes =
        MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    rustix::mount::fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)
}

/// How often a command waits for names that have moved to come back, and how long each time. A name that stays away is
/// for the next attempt, which searches again.
const MAX_WAITS: usize = 64;
const WAIT: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000 };

/// Hides a name, the `nth`. A command that renames directories to and fro all the time has each of them in its place now
/// and then: without waiting for each, several such directories would never be in their places all at once. A mask that
/// is mounted moves with what it hides.
fn hide_when_there(nth: usize, mask: &Mask, waits: &mut usize) -> Result<(), Failure> {
    loop {
        match hide(mask) {
            Err(failure) if failure.phase == Phase::Moved && *waits > 0 => {
                *waits -= 1;
                let _ = rustix::thread::nanosleep(&WAIT);
            }
            // Says which, in place of a number of the system's.
            Err(Failure { phase: Phase::Moved, .. }) => {
                return Err(Failure { phase: Phase::Moved, errno: i32::try_from(nth).unwrap_or(i32::MAX) });
            }
            other => return other,
        }
    }
}

/// Mounts something empty over a protected name, if it still is the file that was found there.
fn hide(mask: &Mask) -> Result<(), Failure> {
    let moved = Failure { phase: Phase::Moved, errno: libc::ESTALE };
    let target = match syscalls::open_path(&mask.path, OFlags::NOFOLLOW) {
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Err(moved),
        // Where the supervisor, which owns the namespace, may not look, no command may.
        Err(Errno::ACCESS) if mask.kind == MaskKind::Located => return Ok(()),
        other => other.during(Phase::Mask)?,
    };
    if FileId::of(&target).during(Phase::Mask)? != mask.identity {
        return Err(moved);
    }
    let empty = if mask.directory { HIDDEN_DIRECTORY } else { HIDDEN_FILE };
    let mount = syscalls::copy_mount(empty).during(Phase::Mask)?;
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    rustix::mount::move_mount(&mount, c"", &target, c"", flags).during(Phase::Mask)
}
