//! Operations on a cache by the path of its directory, for the command line. Nothing is kept in memory: a query reads
//! each document once.

use std::path::Path;

use mainstay_core::{CacheFailure, Kind, Result};
use mainstay_sandbox::{Dir, Workspace};

use super::cache::{Cache, CacheDir, Verification, retry_if_replaced};
use super::cache_root::{CachePage, CacheRoot};
use super::query::{Format, Query, scan};
use crate::progress::Progress;

/// The answer to a query, ready to be printed.
pub fn resolve_at(cache: &Path, query: &str, budget: u64, format: Format) -> Result<String> {
    let query = Query { format, ..Query::new(query, budget) };
    // Errors name the cache by the path that the user gave.
    let name = cache.display().to_string();
    let answer =
        |directory: &Dir| scan(&Cache::open(CacheDir { directory, name: &name })?, &query, &Progress::default());
    retry_if_replaced(|| open(cache), answer, |_| false)
}

/// Reads all of a cache and compares it with its manifest.
pub fn verify_at(cache: &Path, progress: &Progress) -> Result<Verification> {
    let name = cache.display().to_string();
    let verify = |directory: &Dir| Verification::of(CacheDir { directory, name: &name }, progress);
    retry_if_replaced(|| open(cache), verify, Verification::has_defects)
}

/// The number of caches in a cache root.
pub fn count_caches_at(cache_root: &Path) -> Result<usize> {
    let (listed, _) = CacheRoot::new(cache_root.to_owned(), 0).list(&CachePage::ALL, &Progress::default())?;
    Ok(listed.iter().filter(|listed| listed.has_manifest).count())
}

fn open(cache: &Path) -> Result<Dir> {
    let directory = Workspace::open_read_only(cache).and_then(|root| root.find(".")?.open_dir());
    directory.map_err(|error| {
        let path = cache.display();
        if error.kind == Kind::NotFound {
            CacheFailure::CacheMissing.error(format!("There is no directory {path}; give the path of a cache."))
        } else {
            CacheFailure::Io.because(format!("The cache {path} cannot be read: {}", error.public), &error)
        }
    })
}
