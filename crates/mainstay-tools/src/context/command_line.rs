//! A cache by the path of its directory: for whoever runs a command beside it.

use std::path::Path;

use mainstay_core::{Kind, Result};
use mainstay_sandbox::{Dir, Workspace};

use super::cache::error::Failure;
use super::cache::reader::{Cache, Place};
use super::cache::retry_on_replace::steady;
use super::cache::verify::Examined;
use super::cache_root::Caches;
use super::query::scan;
use super::query::select::{Format, Question};
use crate::progress::Progress;

/// What of a cache fits a query and a budget, as it is to be printed.
pub fn resolve_at(cache: &Path, query: &str, budget: u64, format: Format) -> Result<String> {
    let question = Question { format, ..Question::new(query, budget) };
    let name = cache.display().to_string();
    let answer = |directory: &Dir| {
        scan::resolve(&Cache::open(Place { directory, name: &name })?, &question, &Progress::default())
    };
    steady(|| open(cache), answer, |_| false)
}

/// Reads all of a cache and holds it against what it says of itself.
pub fn examine_at(cache: &Path, progress: &Progress) -> Result<Examined> {
    let name = cache.display().to_string();
    let read = |directory: &Dir| Examined::read(Place { directory, name: &name }, progress);
    steady(|| open(cache), read, Examined::is_damaged)
}

/// How many caches lie in a directory.
pub fn count_at(cache_root: &Path) -> Result<usize> {
    let listed = Caches::new(cache_root.to_owned(), 0).list(&Progress::default())?;
    Ok(listed.iter().filter(|listed| listed.has_manifest).count())
}

fn open(cache: &Path) -> Result<Dir> {
    let found = Workspace::open_read_only(cache).and_then(|root| root.find(".")?.open_dir());
    found.map_err(|error| {
        if error.kind == Kind::NotFound {
            Failure::CacheMissing
                .error(format!("There is no directory {}; give the path of a cache that was built.", cache.display()))
        } else {
            Failure::Io.because(format!("The cache {} cannot be read: {}", cache.display(), error.public), &error)
        }
    })
}
