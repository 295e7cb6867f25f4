//! Resource limits of commands, and of the server itself.

use rustix::process::{Resource, getrlimit, setrlimit};

use super::ExecSettings;

/// The limits that every process of a command has on every system. None is above what the server itself has.
pub(super) fn of_each(settings: &ExecSettings) -> Vec<(Resource, u64)> {
    let files = u64::from(settings.open_files);
    vec![
        (Resource::Core, 0),
        (Resource::Nofile, most_open_files().map_or(files, |most| most.min(files))),
        (Resource::Fsize, within(Resource::Fsize, settings.file_mb.saturating_mul(1 << 20))),
    ]
}

/// A limit, lowered to what the server itself has.
pub(super) fn within(resource: Resource, wanted: u64) -> u64 {
    getrlimit(resource).maximum.map_or(wanted, |most| most.min(wanted))
}

/// Raises this process's limit of open files as far as the system allows: a change of many files holds each open.
pub fn raise_open_files() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = most_open_files();
    if let Err(error) = setrlimit(Resource::Nofile, limit) {
        tracing::debug!(%error, "the limit of open files could not be raised");
    }
}

/// How many files this process may have open at once, as its limit is now.
pub fn open_files_limit() -> usize {
    let limit = getrlimit(Resource::Nofile).current.or(most_open_files());
    limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX)
}

/// How many files this process could be allowed to have open at once.
fn most_open_files() -> Option<u64> {
    // macOS reports no limit, and then refuses to go above this one.
    const OPEN_MAX: u64 = 10_240;
    let most = getrlimit(Resource::Nofile).maximum;
    if cfg!(target_vendor = "apple") { Some(most.map_or(OPEN_MAX, |most| most.min(OPEN_MAX))) } else { most }
}
