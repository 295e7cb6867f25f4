//! Resource limits of commands, and of the server itself.

use std::sync::LazyLock;

use mainstay_core::{LimitReached, Principal, PrincipalLimit, PrincipalPermit};
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
pub(crate) fn open_files_limit() -> usize {
    let limit = getrlimit(Resource::Nofile).current.or(most_open_files());
    limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX)
}

/// The descriptors of commands and of changes of files: half of those the process may have. The other half is for
/// connections.
static DESCRIPTORS: LazyLock<PrincipalLimit> = LazyLock::new(|| descriptor_limit(open_files_limit()));

fn descriptor_limit(open_files: usize) -> PrincipalLimit {
    PrincipalLimit::halved(open_files / 2)
}

/// Reserves descriptors for what a principal does. Whoever could take all of them would keep everybody else from opening
/// a file, a connection or the database.
pub fn reserve_descriptors(principal: &Principal, count: usize) -> Result<PrincipalPermit, LimitReached> {
    DESCRIPTORS.acquire_many(principal, count)
}

/// How many files this process could be allowed to have open at once.
fn most_open_files() -> Option<u64> {
    // macOS reports no limit, and then refuses to go above this one.
    const OPEN_MAX: u64 = 10_240;
    let most = getrlimit(Resource::Nofile).maximum;
    if cfg!(target_vendor = "apple") { Some(most.map_or(OPEN_MAX, |most| most.min(OPEN_MAX))) } else { most }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_principal_leaves_descriptors_to_others_and_gives_its_own_back() {
        let (limit, ann, bob) = (descriptor_limit(64), Principal::new("i", "ann"), Principal::new("i", "bob"));
        let take = |who: &Principal| (0..64).map_while(|_| limit.acquire_many(who, 3).ok()).collect::<Vec<_>>();
        let (first, second) = (take(&ann), take(&bob));
        assert_eq!((first.len(), second.len()), (5, 5), "a quarter of 64 descriptors each");
        drop(first);
        assert_eq!(take(&ann).len(), 5);
    }
}
