//! The caches that lie in one directory, by name; those that were asked last, with their words in memory.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mainstay_core::{Error, Kind, Result};
use mainstay_sandbox::{Dir, EntryKind, Metadata, Workspace};
use schemars::JsonSchema;
use serde::Serialize;
use tokio::sync::{Semaphore, SemaphorePermit};

use super::cache::error::{Failure, is_absent};
use super::cache::manifest::{Entry, MANIFEST};
use super::cache::reader::{Cache, Place};
use super::cache::retry_on_replace::steady;
use super::cache::verify::Examined;
use super::query::index::{Index, Trust};
use super::query::scan;
use super::query::select::Question;
use crate::progress::Progress;

/// What our own unfinished directories begin with: they are nobody's caches.
const UNFINISHED: &str = ".mainstay-";

/// How many read whole caches at once.
const TURNS: usize = 3;

#[derive(Debug)]
pub(crate) struct Caches {
    root: PathBuf,
    memory_bytes: u64,
    kept: Mutex<Kept>,
    turns: Semaphore,
    trust: Trust,
}

/// A directory in the cache root.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Listed {
    /// The name to ask for it by.
    pub(crate) path: String,
    /// Whether it looks like a cache.
    pub(crate) has_manifest: bool,
}

impl Caches {
    pub(crate) fn new(root: PathBuf, memory_bytes: u64) -> Self {
        Self { root, memory_bytes, kept: Mutex::default(), turns: Semaphore::new(TURNS), trust: Metadata::settled }
    }

    /// For tests that do not want to wait until the clock of the file system has moved on.
    #[cfg(test)]
    pub(crate) fn trusting(root: PathBuf, memory_bytes: u64) -> Self {
        Self { trust: |_| true, ..Self::new(root, memory_bytes) }
    }

    /// The directory of a cache. Names that cannot be meant are refused before the disk is touched; where the others
    /// lead is found out by walking them beneath the root.
    fn open(&self, name: &str) -> Result<Dir> {
        if name.is_empty() || name.contains("..") || name.contains('\0') || name.starts_with(['/', '\\']) {
            return Err(missing(name));
        }
        let found = Workspace::open_read_only(&self.root).and_then(|root| root.find(name)?.open_dir());
        found.map_err(|error| {
            if is_absent(&error) {
                return missing(name);
            }
            Failure::Io.because(format!("The cache {name:?} cannot be read."), &error)
        })
    }

    /// Directories alone, in the order of their names' bytes. One whose name is not UTF-8 cannot be asked for.
    pub(crate) fn list(&self, progress: &Progress) -> Result<Vec<Listed>> {
        let absent = |error: Error| {
            if error.kind != Kind::NotFound {
                return Failure::Io.because("The cache root cannot be read.", &error);
            }
            Failure::CacheMissing.error(
                "The cache root is not there; `mainstay context build --cache` makes the first cache in it, and \
                 context.cache_root says where it is.",
            )
        };
        let root = Workspace::open_read_only(&self.root).and_then(|root| root.find(".")?.open_dir()).map_err(absent)?;
        let entries = root.entries().map_err(|error| Failure::Io.because("The cache root cannot be read.", &error))?;
        let is_manifest = |name: &str| {
            let facts = root.child(OsStr::new(name)).and_then(|cache| cache.metadata(OsStr::new(MANIFEST)));
            facts.is_ok_and(|facts| facts.kind == EntryKind::File)
        };
        let mut listed = Vec::new();
        for entry in entries.into_iter().filter(|entry| entry.kind == EntryKind::Directory) {
            progress.check()?;
            if let Some(name) = entry.name.to_str().filter(|name| !name.starts_with(UNFINISHED)) {
                listed.push(Listed { path: name.to_owned(), has_manifest: is_manifest(name) });
            }
        }
        listed.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        Ok(listed)
    }

    pub(crate) fn examine(&self, name: &str, progress: &Progress) -> Result<Examined> {
        let read = |directory: &Dir| {
            let _turn = self.turn(progress)?;
            Examined::read(Place { directory, name }, progress)
        };
        steady(|| self.open(name), read, Examined::is_damaged)
    }

    pub(crate) fn resolve(&self, name: &str, question: &Question<'_>, progress: &Progress) -> Result<String> {
        let answer = |directory: &Dir| match self.index(Place { directory, name }, progress)? {
            Ok(index) => index.resolve(question, progress),
            Err(cache) => {
                let _turn = self.turn(progress)?;
                scan::resolve(&cache, question, progress)
            }
        };
        steady(|| self.open(name), answer, |_| false)
    }

    /// What the file system says of a cache's manifest.
    pub(crate) fn manifest(&self, name: &str) -> Result<Metadata> {
        self.open(name)?.metadata(OsStr::new(MANIFEST))
    }

    /// What a cache holds, in the order of the ids.
    pub(crate) fn entries(&self, name: &str, progress: &Progress) -> Result<Vec<Entry>> {
        let read = |directory: &Dir| {
            let _turn = self.turn(progress)?;
            Ok(Cache::open(Place { directory, name })?.entries)
        };
        steady(|| self.open(name), read, |_| false)
    }

    /// The content of one document; nothing if the cache has none with this id.
    pub(crate) fn document(&self, name: &str, id: &str, progress: &Progress) -> Result<Option<String>> {
        let read = |directory: &Dir| {
            let _turn = self.turn(progress)?;
            let cache = Cache::open(Place { directory, name })?;
            let found = cache.entries.binary_search_by(|entry| entry.id.as_str().cmp(id)).ok();
            found.map(|nth| Ok(cache.read(&cache.entries[nth])?.content)).transpose()
        };
        steady(|| self.open(name), read, |_| false)
    }

    /// Few read whole caches at once: each may take as much memory as a manifest does.
    fn turn(&self, progress: &Progress) -> Result<SemaphorePermit<'_>> {
        patiently(progress, || self.turns.try_acquire().ok())
    }

    /// The words of a cache: those in memory if nothing has changed on disk, else read anew. The cache itself if they are
    /// too many to be kept, or were changed just now.
    fn index(&self, place: Place<'_>, progress: &Progress) -> Result<Result<Arc<Index>, Cache>> {
        // A cache has many spellings and one place.
        let key: PathBuf = place.directory.names().iter().collect();
        let slot = self.kept().slot(&key);
        // Whoever asks for a cache that is being read waits for that, instead of reading it too.
        let mut held = patiently(progress, || slot.try_lock().ok())?;
        if let Some(index) = held.clone() {
            drop(held);
            if index.is_of(place.directory) {
                return Ok(Ok(index));
            }
            held = patiently(progress, || slot.try_lock().ok())?;
            if let Some(index) = held.as_ref().filter(|index| index.is_of(place.directory)) {
                return Ok(Ok(index.clone()));
            }
        }
        *held = None;
        self.kept().weigh(&key, 0, self.memory_bytes);
        let _turn = self.turn(progress)?;
        let cache = Cache::open(place)?;
        if self.kept().is_too_large(&key, &cache.manifest) {
            return Ok(Err(cache));
        }
        let index = match Index::read(cache, self.memory_bytes, self.trust, progress)? {
            Ok(index) if index.bytes() <= self.memory_bytes => Arc::new(index),
            Ok(index) => return Ok(Err(self.give_up(&key, index.into_cache()))),
            Err(cache) => return Ok(Err(self.give_up(&key, cache))),
        };
        *held = Some(index.clone());
        drop(held);
        self.kept().weigh(&key, index.bytes(), self.memory_bytes);
        Ok(Ok(index))
    }

    /// It is not tried again before the cache is another one, unless it was only too new.
    fn give_up(&self, key: &Path, cache: Cache) -> Cache {
        if (self.trust)(&cache.manifest) {
            self.kept().note_too_large(key, cache.manifest);
        }
        cache
    }

    /// Does something while nobody else gets a turn.
    #[cfg(test)]
    pub(crate) fn while_all_are_reading(&self, work: impl FnOnce()) {
        let _turns = self.turns.try_acquire_many(u32::try_from(TURNS).unwrap()).unwrap();
        work();
    }

    #[cfg(test)]
    pub(crate) fn weight(&self) -> u64 {
        self.kept().slots.values().map(|slot| slot.bytes).sum()
    }

    /// Whether the next question would be answered from memory.
    #[cfg(test)]
    pub(crate) fn relies_on(&self, name: &str) -> bool {
        let directory = self.open(name).unwrap();
        let slot = self.kept().slot(Path::new(name));
        let held = slot.try_lock().unwrap().clone();
        held.is_some_and(|index| index.is_of(&directory))
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits for something that others have, for as long as anybody waits for us: a thread that waits is one less for
/// everybody.
fn patiently<T>(progress: &Progress, mut attempt: impl FnMut() -> Option<T>) -> Result<T> {
    const LONGEST: Duration = Duration::from_millis(20);
    let mut pause = Duration::from_micros(50);
    loop {
        if let Some(got) = attempt() {
            return Ok(got);
        }
        progress.check()?;
        std::thread::sleep(pause);
        pause = (pause * 2).min(LONGEST);
    }
}

fn missing(name: &str) -> Error {
    Failure::CacheMissing.error(format!("There is no cache {name:?}; context_list_caches names those there are."))
}

/// One cache's words, or the place where somebody is reading them. Not poisoned by one who panics there.
type Held = Arc<tokio::sync::Mutex<Option<Arc<Index>>>>;

#[derive(Debug, Default)]
struct Kept {
    slots: HashMap<PathBuf, Slot>,
    clock: u64,
}

#[derive(Debug, Default)]
struct Slot {
    held: Held,
    bytes: u64,
    last: u64,
    /// The manifest of a cache whose words did not fit.
    too_large: Option<Metadata>,
}

impl Kept {
    /// More places than this are not remembered, whatever they weigh.
    const MOST: usize = 256;

    fn slot(&mut self, key: &Path) -> Held {
        self.clock += 1;
        let slot = self.slots.entry(key.to_owned()).or_default();
        slot.last = self.clock;
        let held = slot.held.clone();
        self.let_go(key, u64::MAX);
        held
    }

    fn is_too_large(&self, key: &Path, manifest: &Metadata) -> bool {
        self.slots.get(key).is_some_and(|slot| slot.too_large.as_ref() == Some(manifest))
    }

    fn note_too_large(&mut self, key: &Path, manifest: Metadata) {
        if let Some(slot) = self.slots.get_mut(key) {
            slot.too_large = Some(manifest);
        }
    }

    fn weigh(&mut self, key: &Path, bytes: u64, most: u64) {
        if let Some(slot) = self.slots.get_mut(key) {
            slot.bytes = bytes;
        }
        self.let_go(key, most);
    }

    /// Lets go of those that were not asked for longest, until the others fit.
    fn let_go(&mut self, asked: &Path, most: u64) {
        while self.slots.len() > Self::MOST || self.slots.values().map(|slot| slot.bytes).sum::<u64>() > most {
            let oldest = self.slots.iter().filter(|(key, _)| *key != asked).min_by_key(|(_, slot)| slot.last);
            let Some(oldest) = oldest.map(|(key, _)| key.clone()) else { return };
            self.slots.remove(&oldest);
        }
    }
}
