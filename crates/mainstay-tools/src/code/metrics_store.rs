//! Metrics of files that were measured before, in memory and in the data directory.
//!
//! Two tables: what a file's content was when its metadata was last seen, and the metrics of each content. A file whose
//! metadata is the same is not opened; one with known content is read and not parsed. Both files in the data directory
//! may be removed at any time, and one that is damaged is empty: that only costs the time to measure again.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Once, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use mainstay_code::{CacheKey, MetricsCache, Outcome};
use mainstay_sandbox::{Dir, Metadata};

/// The names of both tables in the data directory. The number changes with the format.
const METRICS: &str = "metrics.2";
const FILES: &str = "files.2";

/// Files past this are not seen as known; each takes 88 bytes.
const MAX_FILES: usize = 400_000;

/// A larger file is not a table of ours.
const MAX_STORED_BYTES: u64 = 1024 * 1024 * 1024;

/// So many new entries are worth writing a table again, or this part of all of them if that is less.
const WORTH_SAVING: usize = 64;
const WORTH_SAVING_PART: usize = 20;

/// The hash of a file's path.
type PathHash = [u8; 16];

/// What the system says of a file that is another file, or changes, whenever its content does.
type Version = [u64; 5];

/// By path, what its file was when its content was read, and the key of that content.
type Files = HashMap<PathHash, (Version, CacheKey)>;

/// Shared by all calls.
pub(super) struct MetricsStore {
    /// The directory of both tables; without it they are in memory alone.
    directory: Option<PathBuf>,
    loaded: Once,
    tables: RwLock<Tables>,
    /// What is new in each table since it was written.
    new_metrics: AtomicUsize,
    new_files: AtomicUsize,
}

#[derive(Default)]
struct Tables {
    metrics: MetricsCache,
    files: Files,
}

/// Names a file, and the state in which it was seen.
#[derive(Clone, Copy)]
pub(super) struct FileState {
    path: PathHash,
    version: Version,
    /// Whether every later change of the file will show in its metadata.
    settled: bool,
}

impl FileState {
    pub(super) fn new(directory: &Dir, name: &OsStr, metadata: &Metadata) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(directory.root().path().as_os_str().as_bytes());
        for name in directory.names().iter().map(OsString::as_os_str).chain([name]) {
            hasher.update(b"/");
            hasher.update(name.as_bytes());
        }
        let mut path = PathHash::default();
        hasher.finalize_xof().fill(&mut path);
        Self { path, version: metadata.version_numbers(), settled: metadata.settled() }
    }

    /// For a file whose directory is not known: its content is always read.
    pub(super) fn unknown(metadata: &Metadata) -> Self {
        Self { path: PathHash::default(), version: metadata.version_numbers(), settled: false }
    }
}

impl MetricsStore {
    /// Reads nothing yet.
    pub(super) fn new(directory: Option<&Path>) -> Self {
        Self {
            directory: directory.map(Path::to_owned),
            loaded: Once::new(),
            tables: RwLock::default(),
            new_metrics: AtomicUsize::new(0),
            new_files: AtomicUsize::new(0),
        }
    }

    /// Reads the tables, the first time it is called. Blocks on the disk.
    pub(super) fn load(&self) {
        self.loaded.call_once(|| {
            let Some(directory) = &self.directory else { return };
            let metrics = read_bounded(&directory.join(METRICS)).unwrap_or_default();
            let files = read_bounded(&directory.join(FILES)).unwrap_or_default();
            let loaded = Tables { metrics: MetricsCache::from_bytes(metrics), files: read_files(&files) };
            *self.write() = loaded;
        });
    }

    /// The outcome for a file that has not changed since it was measured.
    pub(super) fn unchanged(&self, file: &FileState) -> Option<Outcome> {
        let tables = self.read();
        let (version, key) = tables.files.get(&file.path)?;
        if *version == file.version { tables.metrics.get(key) } else { None }
    }

    /// The outcome for this content, in whatever file it was. The file is known to have it from now on.
    pub(super) fn known_content(&self, file: &FileState, key: CacheKey) -> Option<Outcome> {
        let outcome = self.read().metrics.get(&key)?;
        self.remember(file, key);
        Some(outcome)
    }

    pub(super) fn insert(&self, file: &FileState, key: CacheKey, outcome: &Outcome) {
        self.write().metrics.insert(key, outcome.clone());
        self.new_metrics.fetch_add(1, Ordering::Relaxed);
        self.remember(file, key);
    }

    fn remember(&self, file: &FileState, key: CacheKey) {
        if !file.settled {
            return;
        }
        let files = &mut self.write().files;
        if files.len() < MAX_FILES || files.contains_key(&file.path) {
            files.insert(file.path, (file.version, key));
            self.new_files.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Writes each table if enough of it is new. A file takes the place of the old one in one step. A table that cannot
    /// be written is none that anybody waits for.
    pub(super) fn save(&self) {
        let Some(directory) = &self.directory else { return };
        let (metrics, files) = {
            let tables = self.read();
            let metrics = is_worth_saving(&self.new_metrics, tables.metrics.len()).then(|| tables.metrics.to_bytes());
            let files = is_worth_saving(&self.new_files, tables.files.len());
            (metrics, files.then(|| stored_files(&tables.files)))
        };
        for (name, bytes) in [(METRICS, metrics), (FILES, files)] {
            if let Some(bytes) = bytes {
                let _ = create_private(directory).and_then(|()| replace(&directory.join(name), &bytes));
            }
        }
    }

    fn read(&self) -> RwLockReadGuard<'_, Tables> {
        self.tables.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Tables> {
        self.tables.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is stored of a file: the hash of its path, its version, its key.
const RECORD_BYTES: usize = size_of::<PathHash>() + size_of::<Version>() + CacheKey::BYTES;

fn stored_files(files: &Files) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(files.len() * RECORD_BYTES);
    for (path, (version, key)) in files {
        bytes.extend_from_slice(path);
        bytes.extend_from_slice(version.map(u64::to_le_bytes).as_flattened());
        bytes.extend_from_slice(&key.to_bytes());
    }
    bytes
}

/// Needs no checksum: what is damaged is the path or the version of no file, or the key of no content.
fn read_files(bytes: &[u8]) -> Files {
    let record = |record: &[u8; RECORD_BYTES]| {
        let (path, rest) = record.split_first_chunk()?;
        let (rest, key) = rest.split_last_chunk()?;
        let version: &[[u8; 8]; 5] = rest.as_chunks().0.try_into().ok()?;
        Some((*path, (version.map(u64::from_le_bytes), CacheKey::from_bytes(*key))))
    };
    bytes.as_chunks().0.iter().take(MAX_FILES).filter_map(record).collect()
}

/// Whether so much is new in a table of this size that it is written again; then nothing is new any more.
fn is_worth_saving(new: &AtomicUsize, all: usize) -> bool {
    let worth = WORTH_SAVING.min(all / WORTH_SAVING_PART).max(1);
    new.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |new| (new >= worth).then_some(0)).is_ok()
}

/// The names of functions are in it: it is the server's user's alone.
fn create_private(directory: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(directory)
}

fn read_bounded(path: &Path) -> std::io::Result<Vec<u8>> {
    let file = std::fs::File::open(path)?;
    let size = file.metadata()?.len().min(MAX_STORED_BYTES);
    // One byte more, to notice the end without growing.
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or_default() + 1);
    file.take(MAX_STORED_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Writes a new file beside the old one and renames it. Another process may do the same at the same time.
fn replace(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let new = path.with_extension(format!("new-{}", std::process::id()));
    std::fs::write(&new, bytes)?;
    std::fs::rename(&new, path).inspect_err(|_| {
        let _ = std::fs::remove_file(&new);
    })
}
