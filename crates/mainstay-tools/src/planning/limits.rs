//! What one plan may take: paths, file descriptors, bytes to copy.
//!
//! A plan holds the directory of each of its paths open, and its commit a new file for each. Without a limit one call
//! with many paths, even one that is only a dry run, could take every descriptor of the process: then nobody could open
//! a file or a connection any more.

use std::sync::LazyLock;

use mainstay_core::{Error, Kind, LimitReached, Principal, PrincipalLimit, PrincipalPermit, Result};
use mainstay_sandbox::{AutoRunPolicy, FilesSettings};

/// Descriptors of one path: its directory, a file that is copied or was there, and the new file.
const DESCRIPTORS_PER_PATH: usize = 3;

/// The descriptors of all plans: half of those the process may have. One principal may have half of that, so that
/// others can always change files.
static DESCRIPTORS: LazyLock<PrincipalLimit> = LazyLock::new(|| descriptor_limit(mainstay_sandbox::open_files_limit()));

fn descriptor_limit(open_files: usize) -> PrincipalLimit {
    PrincipalLimit::new(open_files / 2, open_files / 4)
}

/// The descriptors of one path of a plan.
pub(crate) fn reserve_descriptors(principal: &Principal) -> Result<PrincipalPermit> {
    reserve_of(&DESCRIPTORS, principal)
}

fn reserve_of(limit: &PrincipalLimit, principal: &Principal) -> Result<PrincipalPermit> {
    limit.acquire_many(principal, DESCRIPTORS_PER_PATH).map_err(|reached| {
        let (LimitReached::Total(limit) | LimitReached::PerPrincipal(limit)) = reached;
        Error::unavailable(format!(
            "Changes of files that are in progress have reached their limit of {limit} open files. Change fewer paths at \
             once, or try again in a moment. Nothing was changed."
        ))
    })
}

/// The limits of one call, from the configuration.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChangeLimits {
    pub(crate) auto_run: AutoRunPolicy,
    copy_bytes: u64,
    paths: usize,
}

impl ChangeLimits {
    pub(crate) fn new(settings: &FilesSettings) -> Self {
        let FilesSettings { auto_run, copy_bytes, change_paths: paths, .. } = *settings;
        Self { auto_run, copy_bytes, paths }
    }

    /// Fails if a plan that has this many paths gets one more than it may have.
    pub(crate) fn check_paths(&self, paths: usize) -> Result<()> {
        let limit = self.paths;
        if paths < limit {
            return Ok(());
        }
        let line = format!("This call changes more than {limit} paths (files.change_paths); split it.");
        Err(Error::new(Kind::TooLarge, line))
    }

    /// Fails if a plan copies more than one call may.
    pub(crate) fn check_copied(&self, bytes: u64) -> Result<()> {
        if bytes <= self.copy_bytes {
            return Ok(());
        }
        let limit = self.copy_bytes;
        let line = format!("This call copies {bytes} bytes, and at most {limit} (files.copy_bytes) are allowed.");
        Err(Error::new(Kind::TooLarge, line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_principal_leaves_descriptors_to_others_and_gives_its_own_back() {
        let (limit, ann, bob) = (descriptor_limit(64), Principal::new("i", "ann"), Principal::new("i", "bob"));
        let take = |who: &Principal| (0..64).map_while(|_| reserve_of(&limit, who).ok()).collect::<Vec<_>>();
        let (first, second) = (take(&ann), take(&bob));
        assert_eq!((first.len(), second.len()), (5, 5), "a quarter of 64 descriptors each");
        assert_eq!(reserve_of(&limit, &ann).err().unwrap().kind, Kind::Unavailable);
        drop(first);
        assert_eq!(take(&ann).len(), 5);
    }
}
