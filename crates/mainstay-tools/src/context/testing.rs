//! Sources and caches in a temporary directory, for tests.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use mainstay_core::Result;
use serde_json::Value;

use super::cache_root::{CacheRoot, MAX_READERS};
use super::{BuildReport, Plan, Progress};

pub(crate) const MAX_INDEX_BYTES: u64 = 1 << 30;

/// A directory with sources, and a cache root with the cache `docs`.
pub(crate) struct CacheFixture(pub(crate) tempfile::TempDir);

impl CacheFixture {
    pub(crate) fn new(documents: &[(&str, &str)]) -> Self {
        let fixture = Self(tempfile::tempdir().unwrap());
        fixture.write_sources(documents);
        fixture
    }

    /// With the cache built.
    pub(crate) fn built(documents: &[(&str, &str)]) -> Self {
        let fixture = Self::new(documents);
        fixture.build(false).unwrap();
        fixture
    }

    pub(crate) fn write_sources(&self, documents: &[(&str, &str)]) {
        for (path, content) in documents {
            let path = self.sources().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        }
        std::fs::create_dir_all(self.sources()).unwrap();
    }

    pub(crate) fn sources(&self) -> PathBuf {
        self.0.path().join("sources")
    }

    pub(crate) fn root_path(&self) -> PathBuf {
        self.0.path().join("caches")
    }

    pub(crate) fn cache(&self) -> PathBuf {
        self.root_path().join("docs")
    }

    pub(crate) fn build(&self, force: bool) -> Result<BuildReport> {
        let created_at = Timestamp::from_second(1_700_000_000).unwrap();
        let plan = Plan { sources: &self.sources(), cache: &self.cache(), force, created_at };
        plan.build(&Progress::default())
    }

    /// A cache root that keeps indexes in memory at once.
    pub(crate) fn root(&self) -> CacheRoot {
        CacheRoot::always_settled(self.root_path(), MAX_INDEX_BYTES)
    }

    pub(crate) fn manifest(&self) -> Value {
        serde_json::from_slice(&std::fs::read(self.cache().join("manifest.json")).unwrap()).unwrap()
    }

    /// The file of a document.
    pub(crate) fn file(&self, id: &str) -> PathBuf {
        let manifest = self.manifest();
        let entry = manifest["documents"].as_array().unwrap().iter().find(|entry| entry["id"] == id).unwrap();
        self.cache().join(entry["file"].as_str().unwrap())
    }

    /// Every file of the cache, by path.
    pub(crate) fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut files = BTreeMap::new();
        for directory in [self.cache(), self.cache().join("documents")] {
            for entry in std::fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().path()) {
                if entry.is_file() {
                    files.insert(entry.strip_prefix(self.cache()).unwrap().to_owned(), std::fs::read(&entry).unwrap());
                }
            }
        }
        files
    }
}

impl CacheRoot {
    /// Relies on metadata at once: tests do not want to wait until the clock of the file system has moved on.
    pub(crate) fn always_settled(path: PathBuf, max_index_bytes: u64) -> Self {
        let mut root = Self::new(path, max_index_bytes);
        root.is_settled = |_| true;
        root
    }

    /// Does something while all permits are taken.
    pub(crate) fn with_all_readers_busy(&self, work: impl FnOnce()) {
        let _permits = self.readers.try_acquire_many(u32::try_from(MAX_READERS).unwrap()).unwrap();
        work();
    }

    pub(crate) fn index_bytes(&self) -> u64 {
        self.indexes().bytes()
    }

    /// Whether the next query would be answered from memory.
    pub(crate) fn has_current_index(&self, name: &str) -> bool {
        let directory = self.open(name).unwrap();
        let slot = self.indexes().slot(Path::new(name));
        let index = slot.try_lock().unwrap().clone();
        index.is_some_and(|index| index.is_current(&directory))
    }
}
