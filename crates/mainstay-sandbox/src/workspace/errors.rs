//! Errors about paths, as callers see them.

use std::path::Path;

use mainstay_core::{Error, Kind, Reason, Result};
use rustix::io::Errno;

/// The kernel's answer about a path, as an error that names the path.
pub(super) fn from_errno(errno: Errno, display: &str) -> Error {
    match errno {
        Errno::NOENT | Errno::NOTDIR => not_found(display),
        Errno::ACCESS | Errno::PERM => Error::denied(format!("The system does not allow access to {display}.")),
        Errno::ROFS => Error::denied(format!("{display} is on a read-only file system.")),
        Errno::LOOP => Error::field("path", format!("{display} leads through too many symbolic links.")),
        Errno::XDEV => outside(),
        Errno::NAMETOOLONG => Error::field("path", format!("A name in {display} is too long for the file system.")),
        Errno::EXIST | Errno::NOTEMPTY => exists(display),
        Errno::ISDIR | Errno::NXIO | Errno::NODEV => not_a_file(display),
        Errno::ILSEQ | Errno::INVAL => {
            Error::field("path", format!("The file system does not support this for {display}.")).with_detail(errno)
        }
        Errno::NOSPC | Errno::DQUOT => {
            Error::unavailable(format!("There is no space left to write {display}; nothing was changed."))
        }
        Errno::MFILE | Errno::NFILE => Error::unavailable("Too many files are open at once; try again in a moment."),
        other => Error::internal(format!("{display}: {other}")),
    }
}

/// Turns a result of the system into an error that names the path.
pub(super) trait PathContext<T> {
    fn for_path(self, display: &str) -> Result<T>;
}

impl<T, E: Into<std::io::Error>> PathContext<T> for Result<T, E> {
    fn for_path(self, display: &str) -> Result<T> {
        self.map_err(Into::into).map_err(|error| match Errno::from_io_error(&error) {
            Some(errno) => from_errno(errno, display),
            None => Error::internal(format!("{display}: {error}")),
        })
    }
}

/// A contract promises these words.
const OUTSIDE: &str = "Path outside workspace";

pub(super) fn outside() -> Error {
    Error::field("path", OUTSIDE)
}

/// Whether a path was rejected because it leads out of every root.
pub fn is_outside_workspace(error: &Error) -> bool {
    error.kind == Kind::Invalid && error.public == OUTSIDE
}

pub(super) fn not_found(display: &str) -> Error {
    Error::not_found(format!("There is no {display}.")).with_reason(Reason::path(display))
}

pub(super) fn not_a_file(display: &str) -> Error {
    Error::field("path", format!("{display} is not a regular file."))
}

pub(super) fn exists(display: &str) -> Error {
    Error::new(Kind::Conflict, format!("{display} exists already.")).with_reason(Reason::path(display))
}

pub(super) fn protected(display: &str) -> Error {
    Error::denied(format!("{display} is protected. The operator can allow its name with files.unprotect."))
        .with_reason(Reason::path(display))
}

/// Roots are fixed at the start, so neither they nor what contains them may be moved or removed.
pub(super) fn is_a_root(display: &str) -> Error {
    Error::denied(format!("{display} is a root of the workspace and cannot be changed."))
}

/// A directory above a root or above a directory of the server's own.
pub(super) fn contains_kept(display: &str, inner: &Path) -> Error {
    let inner = inner.display();
    Error::denied(format!(
        "{display} cannot be changed: {inner} in it is a root of the workspace, or the server's own."
    ))
    .with_reason(Reason::path(display))
}

pub(super) fn too_deep(max: usize) -> Error {
    Error::field("path", format!("The path has more than {max} names."))
}

/// A directory of the server's own: keys, the audit log, the store, the configuration.
pub(super) fn closed(display: &str) -> Error {
    Error::denied(format!("{display} belongs to the server itself and is not accessible."))
}

pub(super) fn read_only(display: &str) -> Error {
    Error::denied(format!("{display} is in a read-only root.")).with_reason(Reason::path(display))
}

/// Fails once the call is not wanted any more: for the `?` in every loop that reads or writes much.
pub(super) fn check_wanted(wanted: &dyn Fn() -> bool) -> Result<()> {
    if wanted() { Ok(()) } else { Err(Error::new(Kind::Cancelled, "The call was cancelled.")) }
}

/// The source of a copy became shorter than it was when it was opened: the rest of it does not exist.
pub(super) fn truncated(display: &str) -> Error {
    Error::new(Kind::Conflict, format!("{display} was cut off while it was copied; nothing was changed. Try again."))
        .with_reason(Reason::path(display))
}

/// Something else exchanges the path faster than it can be opened.
pub(super) fn changing(display: &str) -> Error {
    Error::new(Kind::Conflict, format!("{display} keeps being replaced by something else; try again later."))
}
