//! The caches that lie in one directory, by name; those that were asked last, with their words in memory.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mainstay_core::{Error, Kind, Result};
use mainstay_sandbox::{Dir, EntryKind, Workspace};
use schemars::JsonSchema;
use serde::Serialize;

use super::cache::{Cache, Place};
use super::examine::Examined;
use super::failure::Failure;
use super::index::Index;
use super::manifest::{Entry, MANIFEST};
use super::scan;
use super::select::Question;
use super::steady::steady;
use crate::progress::Progress;

/// What our own unfinished directories begin with: they are nobody's caches.
const UNFINISHED: &str = ".mainstay-";

#[derive(Debug)]
pub(super) struct Caches {
    root: PathBuf,
    memory_bytes: u64,
    kept: Mutex<Kept>,
}

/// A directory in the cache root.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(super) struct Listed {
    /// The name to ask for it by.
    pub(super) path: String,
    /// Whether it looks like a cache.
    pub(super) has_manifest: bool,
}

impl Caches {
    pub(super) fn new(root: PathBuf, memory_bytes: u64) -> Self {
        Self { root, memory_bytes, kept: Mutex::default() }
    }

    /// The directory of a cache. Names that cannot be meant are refused before the disk is touched; where the others
    /// lead is found out by walking them beneath the root.
    fn open(&self, name: &str) -> Result<Dir> {
        if name.is_empty() || name.contains("..") || name.contains('\0') || name.starts_with(['/', '\\']) {
            return Err(missing(name));
        }
        let found = Workspace::reading(&self.root).and_then(|root| root.find(name)?.open_dir());
        found.map_err(|error| match error.kind {
            Kind::Internal | Kind::Unavailable | Kind::Denied => {
                Failure::Io.because(format!("The cache {name:?} cannot be read."), &error)
            }
            Kind::Invalid
            | Kind::Unknown
            | Kind::NotFound
            | Kind::Unauthorized
            | Kind::ConsentRequired
            | Kind::RateLimited
            | Kind::Conflict
            | Kind::TooLarge
            | Kind::Cancelled
            | Kind::TimedOut
            | Kind::Unsupported
            | Kind::InputRequired => missing(name),
        })
    }

    /// Directories alone, in the order of their names' bytes.
    pub(super) fn list(&self) -> Result<Vec<Listed>> {
        let absent = |error: Error| {
            if error.kind != Kind::NotFound {
                return Failure::Io.because("The cache root cannot be read.", &error);
            }
            Failure::CacheMissing.error(
                "The cache root is not there; `mainstay context build --cache` makes the first cache in it, and \
                 context.cache_root says where it is.",
            )
        };
        let root = Workspace::reading(&self.root).and_then(|root| root.find(".")?.open_dir()).map_err(absent)?;
        let entries = root.entries().map_err(|error| Failure::Io.because("The cache root cannot be read.", &error))?;
        let directories = entries.into_iter().filter(|entry| {
            entry.kind == EntryKind::Directory && !entry.name.as_encoded_bytes().starts_with(UNFINISHED.as_bytes())
        });
        let is_manifest = |name: &OsStr| {
            let facts = root.child(name).and_then(|cache| cache.facts(OsStr::new(MANIFEST)));
            facts.is_ok_and(|facts| facts.kind == EntryKind::File)
        };
        let listed = directories.map(|entry| Listed {
            has_manifest: is_manifest(&entry.name),
            path: entry.name.to_string_lossy().into_owned(),
        });
        let mut listed: Vec<Listed> = listed.collect();
        listed.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        Ok(listed)
    }

    pub(super) fn examine(&self, name: &str, progress: &Progress) -> Result<Examined> {
        steady(
            || self.open(name),
            |directory| Examined::read(Place { directory, name }, progress),
            Examined::is_damaged,
        )
    }

    pub(super) fn resolve(&self, name: &str, question: &Question<'_>, progress: &Progress) -> Result<String> {
        let answer = |directory: &Dir| match self.index(name, directory, progress)? {
            Ok(index) => index.resolve(question, progress),
            Err(cache) => scan::resolve(&cache, question, progress),
        };
        steady(|| self.open(name), answer, |_| false)
    }

    /// What a cache holds, in the order of the ids.
    pub(super) fn entries(&self, name: &str) -> Result<Vec<Entry>> {
        steady(|| self.open(name), |directory| Ok(Cache::open(Place { directory, name })?.entries), |_| false)
    }

    /// The content of one document; nothing if the cache has none with this id.
    pub(super) fn document(&self, name: &str, id: &str) -> Result<Option<String>> {
        let read = |directory: &Dir| {
            let cache = Cache::open(Place { directory, name })?;
            let found = cache.entries.binary_search_by(|entry| entry.id.as_str().cmp(id)).ok();
            found.map(|nth| Ok(cache.read(&cache.entries[nth])?.content)).transpose()
        };
        steady(|| self.open(name), read, |_| false)
    }

    /// The words of a cache: those in memory if nothing has changed on disk, else read anew. The cache itself if they are
    /// too many to be kept.
    fn index(&self, name: &str, directory: &Dir, progress: &Progress) -> Result<Result<Arc<Index>, Cache>> {
        let slot = self.kept().slot(name);
        let held = slot.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(index) = held.filter(|index| index.is_of(directory)) {
            return Ok(Ok(index));
        }
        // Whoever asks for a cache that is being read waits for that, instead of reading it too.
        let mut held = slot.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(index) = held.as_ref().filter(|index| index.is_of(directory)) {
            return Ok(Ok(index.clone()));
        }
        *held = None;
        let index = match Index::read(Cache::open(Place { directory, name })?, self.memory_bytes, progress)? {
            Ok(index) if index.bytes() <= self.memory_bytes => Arc::new(index),
            Ok(index) => return Ok(Err(index.into_cache())),
            Err(cache) => return Ok(Err(cache)),
        };
        *held = Some(index.clone());
        drop(held);
        self.kept().weigh(name, index.bytes(), self.memory_bytes);
        Ok(Ok(index))
    }

    #[cfg(test)]
    pub(super) fn weight(&self) -> u64 {
        self.kept().slots.values().map(|(_, used)| used.bytes).sum()
    }

    /// Whether the next question would be answered from memory.
    #[cfg(test)]
    pub(super) fn relies_on(&self, name: &str) -> bool {
        let slot = self.kept().slot(name);
        let held = slot.lock().unwrap().clone();
        held.is_some_and(|index| index.is_of(&self.open(name).unwrap()))
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn missing(name: &str) -> Error {
    Failure::CacheMissing.error(format!("There is no cache {name:?}; context_list_caches names those there are."))
}

/// One cache's words, or the place where somebody is reading them.
type Slot = Arc<Mutex<Option<Arc<Index>>>>;

#[derive(Debug, Default)]
struct Kept {
    slots: HashMap<String, (Slot, Use)>,
    clock: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Use {
    bytes: u64,
    last: u64,
}

impl Kept {
    /// More names than this are not remembered, whatever they weigh.
    const MOST: usize = 256;

    fn slot(&mut self, name: &str) -> Slot {
        self.clock += 1;
        let clock = self.clock;
        let (slot, used) = self.slots.entry(name.to_owned()).or_default();
        used.last = clock;
        let slot = slot.clone();
        self.let_go(name, u64::MAX);
        slot
    }

    fn weigh(&mut self, name: &str, bytes: u64, most: u64) {
        if let Some((_, used)) = self.slots.get_mut(name) {
            used.bytes = bytes;
        }
        self.let_go(name, most);
    }

    /// Lets go of those that were not asked for longest, until the others fit.
    fn let_go(&mut self, asked: &str, most: u64) {
        while self.slots.len() > Self::MOST || self.slots.values().map(|(_, used)| used.bytes).sum::<u64>() > most {
            let oldest = self.slots.iter().filter(|(name, _)| *name != asked).min_by_key(|(_, (_, used))| used.last);
            let Some(oldest) = oldest.map(|(name, _)| name.clone()) else { return };
            self.slots.remove(&oldest);
        }
    }
}
