//! What the kernel says about a path, in words for the caller.

use mainstay_core::{Error, Kind, Reason, Result};
use rustix::io::Errno;

pub(crate) fn of(errno: Errno, shown: &str) -> Error {
    match errno {
        Errno::NOENT | Errno::NOTDIR => not_found(shown),
        Errno::ACCESS | Errno::PERM => Error::denied(format!("The system does not allow access to {shown}.")),
        Errno::ROFS => Error::denied(format!("{shown} is on a read-only file system.")),
        Errno::LOOP => Error::field("path", format!("{shown} leads through too many links.")),
        Errno::XDEV => outside(),
        Errno::NAMETOOLONG => Error::field("path", format!("A name in {shown} is too long for the file system.")),
        Errno::EXIST | Errno::NOTEMPTY => exists(shown),
        Errno::ISDIR | Errno::NXIO | Errno::NODEV => not_a_file(shown),
        Errno::ILSEQ | Errno::INVAL => {
            Error::field("path", format!("The file system does not take {shown} for this.")).with_detail(errno)
        }
        Errno::NOSPC | Errno::DQUOT => {
            Error::unavailable(format!("There is no space left to write {shown}; nothing was changed."))
        }
        Errno::MFILE | Errno::NFILE => Error::unavailable("Too many files are open at once; try again in a moment."),
        other => Error::internal(format!("{shown}: {other}")),
    }
}

/// The system's answer to a path, as an error for its caller.
pub(crate) trait About<T> {
    fn about(self, shown: &str) -> Result<T>;
}

impl<T> About<T> for rustix::io::Result<T> {
    fn about(self, shown: &str) -> Result<T> {
        self.map_err(|errno| of(errno, shown))
    }
}

impl<T> About<T> for std::io::Result<T> {
    fn about(self, shown: &str) -> Result<T> {
        self.map_err(|error| match Errno::from_io_error(&error) {
            Some(errno) => of(errno, shown),
            None => Error::internal(format!("{shown}: {error}")),
        })
    }
}

const OUTSIDE: &str = "Path outside workspace";

pub(crate) fn outside() -> Error {
    Error::field("path", OUTSIDE)
}

/// Whether a path was refused because it leads out of every root.
pub fn leads_outside(refusal: &Error) -> bool {
    refusal.kind == Kind::Invalid && refusal.public == OUTSIDE
}

pub(crate) fn not_found(shown: &str) -> Error {
    Error::not_found(format!("There is no {shown}.")).with_reason(Reason::path(shown))
}

pub(crate) fn not_a_file(shown: &str) -> Error {
    Error::field("path", format!("{shown} is not a regular file."))
}

pub(crate) fn exists(shown: &str) -> Error {
    Error::new(Kind::Conflict, format!("{shown} exists already.")).with_reason(Reason::path(shown))
}

pub(crate) fn protected(shown: &str) -> Error {
    Error::denied(format!("{shown} is protected. The operator can allow its name with files.unprotect."))
        .with_reason(Reason::path(shown))
}

pub(crate) fn a_root(shown: &str) -> Error {
    Error::denied(format!("{shown} is a root of the workspace and stays as it is."))
}

pub(crate) fn too_deep() -> Error {
    Error::field("path", format!("The path has more than {} names.", super::DEEPEST))
}

pub(crate) fn closed(shown: &str) -> Error {
    Error::denied(format!("{shown} belongs to the server itself and is not for callers."))
}

pub(crate) fn read_only(shown: &str) -> Error {
    Error::denied(format!("{shown} lies in a root that is read-only.")).with_reason(Reason::path(shown))
}
