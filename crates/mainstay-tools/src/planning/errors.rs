//! The errors of planning that several tools share. Each names the path, in the message and as data for programs.

use mainstay_core::{Error, Kind, Reason};

/// The largest file that is read whole in order to change it.
pub(crate) const MAX_WHOLE_FILE: u64 = 64 * 1024 * 1024;

pub(crate) fn not_found(path: &str) -> Error {
    Error::not_found(format!("{path} does not exist.")).with_reason(Reason::path(path))
}

/// Something at `path` is not in the state that the change needs.
pub(crate) fn conflict(path: &str, message: String) -> Error {
    Error::new(Kind::Conflict, message).with_reason(Reason::path(path))
}

pub(crate) fn already_exists(path: &str) -> Error {
    conflict(path, format!("{path} already exists; set overwrite to replace it, or pass its etag."))
}

pub(crate) fn too_large(path: &str, size: u64) -> Error {
    let limit = MAX_WHOLE_FILE >> 20;
    Error::new(Kind::TooLarge, format!("{path} has {size} bytes; files over {limit} MiB are not changed in place."))
        .with_reason(Reason::FileTooLarge { path: path.to_owned(), size, limit: MAX_WHOLE_FILE })
}

/// One call must not change a path inside a directory that it also moves, copies or removes.
pub(crate) fn inside_changed_tree(field: &str, path: &str, tree: &str) -> Error {
    let reason = format!("{path} is inside {tree}, which the same call moves, copies or removes; use two calls.");
    Error::field(field, reason)
}

/// The sandbox reports every bad path as the argument `path`; this renames it to the argument the caller used.
pub(crate) fn with_field(mut error: Error, field: &str) -> Error {
    error.rename_field(|_| field.to_owned());
    error
}
