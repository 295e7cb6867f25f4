//! What one plan may take: paths, and bytes to copy.

use mainstay_core::{Error, Kind, Result};
use mainstay_sandbox::{AutoRunPolicy, FilesSettings};

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
