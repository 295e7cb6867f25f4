//! The cache root: a directory of caches, found by name. Indexes of the ones used last are kept in memory.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mainstay_core::{CacheFailure, Error, Kind, Result};
use mainstay_sandbox::{Dir, EntryKind, Metadata, Workspace};
use schemars::JsonSchema;
use serde::Serialize;
use tokio::sync::{Semaphore, SemaphorePermit};

use super::cache::{Cache, CacheDir, Entry, MANIFEST, Verification, find_entry, is_absent, retry_if_replaced};
use super::query::{Index, IndexCache, IsSettled, MaybeIndexed, Query, scan};
use crate::progress::Progress;

/// What names of unfinished builds begin with; they are not listed.
const UNFINISHED_PREFIX: &str = ".mainstay-";

/// How many calls read whole caches at once. Each may hold a manifest of 128 MiB in memory.
pub(super) const MAX_READERS: usize = 3;

/// Caches by name, with the indexes of some of them. Shared by all calls; every method blocks on the disk.
#[derive(Debug)]
pub(crate) struct CacheRoot {
    path: PathBuf,
    /// For all indexes together, and so for each of them.
    max_index_bytes: u64,
    indexes: Mutex<IndexCache>,
    pub(super) readers: Semaphore,
    pub(super) is_settled: IsSettled,
}

/// A directory in the cache root.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct ListedCache {
    /// Name of the cache, to be used as the argument cache.
    pub(crate) path: String,
    /// Whether it has a manifest; one without is unfinished, or not a cache.
    pub(crate) has_manifest: bool,
}

/// A part of the list of caches: those after a name, and at most so many.
#[derive(Debug)]
pub(crate) struct CachePage<'a> {
    pub(crate) after: &'a str,
    pub(crate) limit: usize,
}

impl CachePage<'static> {
    /// All of them.
    pub(crate) const ALL: Self = Self { after: "", limit: usize::MAX };
}

impl CacheRoot {
    pub(crate) fn new(path: PathBuf, max_index_bytes: u64) -> Self {
        Self {
            path,
            max_index_bytes,
            indexes: Mutex::new(IndexCache::new(max_index_bytes)),
            readers: Semaphore::new(MAX_READERS),
            is_settled: Metadata::settled,
        }
    }

    /// Opens the directory of a cache. The sandbox keeps every name beneath the root; names that cannot be one are refused
    /// before the disk is touched, because the contract wants `cache_missing` for them.
    pub(super) fn open(&self, name: &str) -> Result<Dir> {
        if name.is_empty() || name.contains("..") || name.contains('\0') || name.starts_with(['/', '\\']) {
            return Err(missing(name));
        }
        let directory = Workspace::open_read_only(&self.path).and_then(|root| root.find(name)?.open_dir());
        directory.map_err(|error| {
            if is_absent(&error) {
                return missing(name);
            }
            CacheFailure::Io.because(format!("The cache {name:?} cannot be read."), &error)
        })
    }

    /// The directories of the cache root, sorted by name, and whether there are more after this page. Names that are not
    /// UTF-8 are left out: no argument can name them.
    pub(crate) fn list(&self, page: &CachePage<'_>, progress: &Progress) -> Result<(Vec<ListedCache>, bool)> {
        let unreadable = |error: Error| {
            if error.kind != Kind::NotFound {
                return CacheFailure::Io.because("The cache root cannot be read.", &error);
            }
            CacheFailure::CacheMissing.error(
                "The cache root does not exist; `mainstay context build --cache` creates the first cache in it. Its \
                 location is set by context.cache_root.",
            )
        };
        let root =
            Workspace::open_read_only(&self.path).and_then(|root| root.find(".")?.open_dir()).map_err(unreadable)?;
        let entries = root.entries().map_err(unreadable)?;
        let has_manifest = |name: &str| {
            let metadata = root.child(OsStr::new(name)).and_then(|cache| cache.metadata(OsStr::new(MANIFEST)));
            metadata.is_ok_and(|metadata| metadata.kind == EntryKind::File)
        };
        let directories = entries.into_iter().filter(|entry| entry.kind == EntryKind::Directory);
        let names = directories.filter_map(|entry| entry.name.into_string().ok());
        let mut names: Vec<String> =
            names.filter(|name| !name.starts_with(UNFINISHED_PREFIX) && name.as_str() > page.after).collect();
        names.sort_unstable();
        let has_more = names.len() > page.limit;
        names.truncate(page.limit);
        let mut listed = Vec::with_capacity(names.len());
        for path in names {
            progress.check()?;
            listed.push(ListedCache { has_manifest: has_manifest(&path), path });
        }
        Ok((listed, has_more))
    }

    /// Reads all of a cache and compares it with its manifest.
    pub(crate) fn verify(&self, name: &str, progress: &Progress) -> Result<Verification> {
        let verify = |directory: &Dir| {
            let _permit = self.reader_permit(progress)?;
            Verification::of(CacheDir { directory, name }, progress)
        };
        retry_if_replaced(|| self.open(name), verify, Verification::has_defects)
    }

    /// The answer to a query, with a newline at its end.
    pub(crate) fn resolve(&self, name: &str, query: &Query<'_>, progress: &Progress) -> Result<String> {
        let answer = |directory: &Dir| match self.index(CacheDir { directory, name }, progress)? {
            MaybeIndexed::Indexed(index) => index.resolve(query, progress),
            MaybeIndexed::OnDisk(cache) => {
                let _permit = self.reader_permit(progress)?;
                scan(&cache, query, progress)
            }
        };
        retry_if_replaced(|| self.open(name), answer, |_| false)
    }

    /// File metadata of a cache's manifest.
    pub(crate) fn manifest_metadata(&self, name: &str) -> Result<Metadata> {
        self.open(name)?.metadata(OsStr::new(MANIFEST))
    }

    /// The documents of a cache, sorted by id.
    pub(crate) fn entries(&self, name: &str, progress: &Progress) -> Result<Vec<Entry>> {
        self.read(name, progress, |cache| Ok(cache.entries))
    }

    /// The content of one document; `None` if the cache has none with this id.
    pub(crate) fn document(&self, name: &str, id: &str, progress: &Progress) -> Result<Option<String>> {
        self.read(name, progress, |cache| {
            find_entry(&cache.entries, id).map(|entry| Ok(cache.read(entry)?.content)).transpose()
        })
    }

    /// Opens a cache and reads from it, as one of at most [`MAX_READERS`] calls.
    fn read<T>(&self, name: &str, progress: &Progress, read: impl Fn(Cache) -> Result<T>) -> Result<T> {
        let read = |directory: &Dir| {
            let _permit = self.reader_permit(progress)?;
            read(Cache::open(CacheDir { directory, name })?)
        };
        retry_if_replaced(|| self.open(name), read, |_| false)
    }

    fn reader_permit(&self, progress: &Progress) -> Result<SemaphorePermit<'_>> {
        wait_for(progress, || self.readers.try_acquire().ok())
    }

    /// The index of a cache: the one in memory if no file has changed since, else a new one if it fits.
    fn index(&self, cache: CacheDir<'_>, progress: &Progress) -> Result<MaybeIndexed> {
        // The resolved path: a cache has many spellings, links included.
        let key: PathBuf = cache.directory.names().iter().collect();
        let slot = self.indexes().slot(&key);
        // Calls for a cache that is just being read wait for its index instead of reading it, too.
        let mut held = wait_for(progress, || slot.try_lock().ok())?;
        if let Some(index) = held.clone() {
            // Without the lock: the check takes a stat for every file, and calls should not wait for each other's.
            drop(held);
            if index.is_current(cache.directory) {
                return Ok(MaybeIndexed::Indexed(index));
            }
            held = wait_for(progress, || slot.try_lock().ok())?;
            // Another call may have read the new one meanwhile.
            if let Some(index) = held.as_ref().filter(|index| index.is_current(cache.directory)) {
                return Ok(MaybeIndexed::Indexed(index.clone()));
            }
        }
        // Its memory is released before the new one is read.
        *held = None;
        self.indexes().set_bytes(&key, 0);
        let _permit = self.reader_permit(progress)?;
        let cache = Cache::open(cache)?;
        if self.indexes().is_too_large(&key, &cache.manifest) {
            return Ok(MaybeIndexed::OnDisk(cache));
        }
        let indexed = Index::read(cache, self.max_index_bytes, self.is_settled, progress)?;
        match &indexed {
            MaybeIndexed::Indexed(index) => {
                *held = Some(index.clone());
                drop(held);
                self.indexes().set_bytes(&key, index.bytes());
            }
            // A cache that is only too new to be settled is tried again.
            MaybeIndexed::OnDisk(cache) if (self.is_settled)(&cache.manifest) => {
                self.indexes().set_too_large(&key, cache.manifest);
            }
            MaybeIndexed::OnDisk(_) => {}
        }
        Ok(indexed)
    }

    pub(super) fn indexes(&self) -> MutexGuard<'_, IndexCache> {
        self.indexes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits on a blocking thread for something that other calls hold, until this call is cancelled. Polls, because a lock
/// that can be given up on cancellation needs a runtime, and the command line has none.
fn wait_for<T>(progress: &Progress, mut attempt: impl FnMut() -> Option<T>) -> Result<T> {
    const MAX_PAUSE: Duration = Duration::from_millis(20);
    let mut pause = Duration::from_micros(50);
    loop {
        if let Some(got) = attempt() {
            return Ok(got);
        }
        progress.check()?;
        std::thread::sleep(pause);
        pause = (pause * 2).min(MAX_PAUSE);
    }
}

fn missing(name: &str) -> Error {
    CacheFailure::CacheMissing
        .error(format!("There is no cache {name:?}; context_list_caches lists the existing ones."))
}
