//! Notices from the kernel (inotify) about directories whose entries change. The masks of commands follow protected names by
//! them ([`exec`](crate::exec)), and [`DirWatcher`](crate::DirWatcher) the files of an index.
//!
//! The kernel queues a notice before the system call that makes the change returns, and before it unlocks the changed
//! directories. So every change that was complete when the queue is read is in it; and whoever lists a directory after
//! that has waited for a change in progress, whose notices, of both directories of a move, are then in the queue.

use std::ffi::OsStr;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;

/// The number that the kernel gives to a watched directory. It is not given again after the directory is gone.
pub(crate) type WatchId = i32;

/// Why notices cannot be relied on.
#[derive(Debug)]
pub(crate) enum Lost {
    /// Notices are missing: the tree has to be read again.
    Notices,
    /// There will be none, for this reason.
    Unwatchable(String),
}

/// Watches directories.
pub(crate) struct Watcher {
    inotify: OwnedFd,
    noticed: WatchFlags,
    /// How many directories may be watched.
    limit: usize,
}

/// What has happened in a watched directory.
pub(crate) struct Notice<'a> {
    pub(crate) watch: WatchId,
    /// Of the entry; `None` if it is about the directory itself.
    pub(crate) name: Option<&'a OsStr>,
    /// Whether that is a directory.
    pub(crate) is_directory: bool,
    /// The watched directory does not exist any more, and its number is not used again.
    pub(crate) is_gone: bool,
}

/// Enough for a hundred notices at a time.
const BUFFER: usize = 8 * 1024;

impl Watcher {
    /// `noticed` is what notices are about.
    pub(crate) fn new(noticed: WatchFlags) -> Result<Self, Lost> {
        let cannot = |errno| Lost::Unwatchable(format!("no inotify instance: {errno}"));
        let inotify = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).map_err(cannot)?;
        let most = std::fs::read_to_string("/proc/sys/fs/inotify/max_user_watches");
        let most = most.ok().and_then(|text| text.trim().parse::<usize>().ok()).unwrap_or(8192);
        // The limit is of the user: editors and other servers need some too.
        Ok(Self { inotify, noticed: noticed.union(WatchFlags::ONLYDIR), limit: most / 4 * 3 })
    }

    /// Watches an open directory, the `nth`. One that is watched already has the same number.
    pub(crate) fn add(&self, directory: BorrowedFd<'_>, nth: usize) -> Result<Result<WatchId, Errno>, Lost> {
        let limit = || {
            let limit = self.limit;
            Lost::Unwatchable(format!("more than {limit} directories, three quarters of fs.inotify.max_user_watches"))
        };
        if nth > self.limit {
            return Err(limit());
        }
        // By handle: what is watched is what is read, wherever it is moved meanwhile.
        let path = format!("/proc/self/fd/{}", directory.as_raw_fd());
        match inotify::add_watch(&self.inotify, path, self.noticed) {
            Ok(watch) => Ok(Ok(watch)),
            Err(Errno::ACCESS) => Ok(Err(Errno::ACCESS)),
            Err(Errno::NOSPC) => Err(limit()),
            Err(errno) => Err(Lost::Unwatchable(format!("a directory cannot be watched: {errno}"))),
        }
    }

    /// Stops watching a directory.
    pub(crate) fn remove(&self, watch: WatchId) {
        // It fails if the directory is gone, which is fine.
        let _ = inotify::remove_watch(&self.inotify, watch);
    }

    /// Whether there are notices to read.
    pub(crate) fn has_notices(&self) -> bool {
        rustix::io::ioctl_fionread(&self.inotify).is_ok_and(|bytes| bytes > 0)
    }

    /// Reads all notices.
    pub(crate) fn read(&self, mut each: impl FnMut(Notice<'_>)) -> Result<(), Lost> {
        let mut buffer = [const { MaybeUninit::uninit() }; BUFFER];
        let mut reader = inotify::Reader::new(&self.inotify, &mut buffer);
        loop {
            let event = match reader.next() {
                Ok(event) => event,
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR) => continue,
                Err(errno) => return Err(Lost::Unwatchable(format!("inotify cannot be read: {errno}"))),
            };
            let flags = event.events();
            if flags.intersects(ReadFlags::QUEUE_OVERFLOW | ReadFlags::UNMOUNT) {
                return Err(Lost::Notices);
            }
            each(Notice {
                watch: event.wd(),
                name: event.file_name().map(|name| OsStr::from_bytes(name.to_bytes())),
                is_directory: flags.contains(ReadFlags::ISDIR),
                is_gone: flags.contains(ReadFlags::IGNORED),
            });
        }
    }
}

/// File systems on which every change is made by this kernel, which alone can notice it. On others (NFS, FUSE, 9p …)
/// another machine or a program may change files unnoticed.
const LOCAL: &[i64] = &[
    0xef53,      // ext2, ext3, ext4
    0x5846_5342, // XFS
    0x9123_683e, // btrfs
    0x0102_1994, // tmpfs
    0xf2f5_2010, // F2FS
    0x2fc1_2fc1, // ZFS
    0xca45_1a4e, // bcachefs
    0x794c_7630, // overlayfs
];

/// Fails if something in a tree could change without a notice. Nothing may be mounted inside: the same directory could
/// then have two paths.
pub(crate) fn check_watchable(handle: BorrowedFd<'_>, path: &Path, mounts: &[PathBuf]) -> Result<(), Lost> {
    let unwatchable = |why: String| Lost::Unwatchable(format!("{}: {why}", path.display()));
    let stat = rustix::fs::fstatfs(handle).map_err(|errno| unwatchable(errno.to_string()))?;
    if !LOCAL.contains(&stat.f_type) {
        return Err(unwatchable(format!("not a local file system (type {:#x})", stat.f_type)));
    }
    match mounts.iter().find(|mount| mount.starts_with(path) && *mount != path) {
        Some(mount) => Err(unwatchable(format!("{} is mounted inside", mount.display()))),
        None => Ok(()),
    }
}

/// Where something is mounted, as this process sees it.
pub(crate) fn mount_points() -> Result<Vec<PathBuf>, Lost> {
    let cannot = |error: std::io::Error| Lost::Unwatchable(format!("the mounts are not known: {error}"));
    let table = std::fs::read("/proc/self/mountinfo").map_err(cannot)?;
    let fifth = |line: &[u8]| line.split(|byte| *byte == b' ').nth(4).map(unescape);
    Ok(table.split(|byte| *byte == b'\n').filter_map(fifth).collect())
}

/// A path of the mount table, in which spaces and other separators are octal numbers (`\040`).
fn unescape(field: &[u8]) -> PathBuf {
    let mut path = Vec::with_capacity(field.len());
    let mut rest = field;
    while let [first, tail @ ..] = rest {
        if let [b'\\', a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', after @ ..] = rest {
            path.push((a - b'0') * 64 + (b - b'0') * 8 + (c - b'0'));
            rest = after;
        } else {
            path.push(*first);
            rest = tail;
        }
    }
    PathBuf::from(OsStr::from_bytes(&path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_in_the_mount_table_are_octal() {
        assert_eq!(unescape(br"/a\040b\134c"), Path::new(r"/a b\c"));
        assert_eq!(unescape(br"/plain\9"), Path::new(r"/plain\9"));
        assert!(mount_points().unwrap().contains(&PathBuf::from("/")));
    }

    #[test]
    fn a_tree_with_a_mount_inside_is_not_watched() {
        let directory = tempfile::tempdir().unwrap();
        let handle = std::fs::File::open(directory.path()).unwrap();
        let check = |mounts: &[PathBuf]| check_watchable(std::os::fd::AsFd::as_fd(&handle), directory.path(), mounts);
        assert!(check(&["/".into(), directory.path().into()]).is_ok());
        assert!(matches!(check(&[directory.path().join("in")]), Err(Lost::Unwatchable(_))));
        let proc = std::fs::File::open("/proc").unwrap();
        let proc = check_watchable(std::os::fd::AsFd::as_fd(&proc), Path::new("/proc"), &[]);
        assert!(matches!(proc, Err(Lost::Unwatchable(why)) if why.contains("not a local file system")));
    }
}
