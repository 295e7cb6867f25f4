//! The files of an index.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::sync::Arc;

use super::manifest::{Entry, Manifest};
use crate::segment::{Bytes, SegmentError};

/// Maps a file into memory.
pub type MapFile = Arc<dyn Fn(&File) -> io::Result<Bytes> + Send + Sync>;

// A file that ends in `.new` is a segment still being written; only one that ends in `.segment` can be in the manifest.
const MANIFEST: &str = "manifest";
const NEW_MANIFEST: &str = "manifest~";
const LOCK: &str = "lock";
const BUILD_LOCK: &str = "build.lock";
const SEGMENT: &str = "segment";
const NEW_SEGMENT: &str = "new";

/// Why an index cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    #[error("the index cannot be written: {0}")]
    Io(#[from] io::Error),
    #[error(transparent)]
    Segment(#[from] SegmentError),
}

/// A directory of its own in the data directory.
#[derive(Clone)]
pub struct IndexDirectory {
    path: PathBuf,
    map: MapFile,
}

/// What differs between two manifests: each is a new file.
pub(super) type ManifestStamp = (u64, i64, i64, u64);

/// Held while a process indexes the whole workspace. Others may search and change single documents.
pub struct BuildLock {
    _file: File,
}

/// Held while the index is changed. Other processes wait.
pub(super) struct Locked {
    _file: File,
}

impl IndexDirectory {
    /// The directory is created, for this user alone. `map` maps one of its files into memory.
    pub fn open(path: PathBuf, map: MapFile) -> io::Result<Self> {
        let directory = Self { path, map };
        directory.create()?;
        Ok(directory)
    }

    fn create(&self) -> io::Result<()> {
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&self.path)
    }

    /// Opens a file that is only locked. The directory may have been removed since it was opened, as people do with caches;
    /// every change begins with a lock, so this is where it is created again.
    fn open_lock(&self, name: &str) -> io::Result<File> {
        let open = || OpenOptions::new().create(true).truncate(false).write(true).open(self.path.join(name));
        match open() {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                self.create()?;
                open()
            }
            opened => opened,
        }
    }

    /// Waits until no other process changes the index.
    pub(super) fn lock(&self) -> io::Result<Locked> {
        let file = self.open_lock(LOCK)?;
        // A lock of the operating system: it ends with the process, so a killed one leaves none behind.
        file.lock()?;
        Ok(Locked { _file: file })
    }

    /// `None` while another process indexes the whole workspace: doing it twice at once would take twice as long.
    pub fn try_build_lock(&self) -> io::Result<Option<BuildLock>> {
        let file = self.open_lock(BUILD_LOCK)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(BuildLock { _file: file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Tells whether the manifest is still the one that was read, without reading it. `None` if there is none.
    pub(super) fn manifest_stamp(&self) -> Option<ManifestStamp> {
        let metadata = std::fs::metadata(self.path.join(MANIFEST)).ok()?;
        Some((metadata.ino(), metadata.mtime(), metadata.mtime_nsec(), metadata.len()))
    }

    /// The manifest as it is now. A damaged one counts as none: the index is built anew.
    pub(super) fn manifest(&self) -> io::Result<Manifest> {
        match std::fs::read(self.path.join(MANIFEST)) {
            Ok(bytes) => Ok(Manifest::from_bytes(&bytes).unwrap_or_default()),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Manifest::default()),
            Err(error) => Err(error),
        }
    }

    /// Replaces the manifest in one step. It is not forced to disk: after a power failure checksums tell what is missing.
    pub(super) fn replace_manifest(&self, _locked: &Locked, manifest: &Manifest) -> io::Result<()> {
        let new = self.path.join(NEW_MANIFEST);
        std::fs::write(&new, manifest.to_bytes())?;
        std::fs::rename(new, self.path.join(MANIFEST))
    }

    /// Writes a segment that does not count yet. It is locked, so that no other process takes it for one that was left behind.
    pub(super) fn write_segment(&self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<NewSegment> {
        let path = self.path.join(format!("{}.{NEW_SEGMENT}", mainstay_core::new_id()));
        let file = OpenOptions::new().write(true).create_new(true).open(&path)?;
        let new = NewSegment { path, file };
        new.file.lock()?;
        let mut writer = BufWriter::with_capacity(1 << 20, &new.file);
        write(&mut writer)?;
        writer.flush()?;
        drop(writer);
        Ok(new)
    }

    /// Gives a new segment its name, which is random: no other segment ever had it, even if the manifest was lost meanwhile.
    /// A process that has the other one open would take this one for it.
    pub(super) fn place(_locked: &Locked, new: &NewSegment) -> io::Result<Entry> {
        let path = new.path.with_extension(SEGMENT);
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let bytes = new.file.metadata()?.len();
        std::fs::rename(&new.path, path)?;
        Ok(Entry { file, bytes, deleted: Vec::new() })
    }

    /// Maps a segment. One of another length than it had is damaged.
    pub(super) fn map(&self, entry: &Entry) -> Result<Bytes, IndexError> {
        let file = File::open(self.path.join(&entry.file))?;
        if file.metadata()?.len() != entry.bytes {
            return Err(SegmentError::Damaged("its length is another").into());
        }
        Ok((self.map)(&file)?)
    }

    /// Removes segments that do not count: of updates before, and of processes that were killed. Those that another process
    /// has open stay readable for it.
    pub(super) fn remove_unused(&self, _locked: &Locked, manifest: &Manifest) {
        let Ok(entries) = std::fs::read_dir(&self.path) else { return };
        for entry in entries.flatten() {
            let path = entry.path();
            let is_unused = match path.extension().and_then(|extension| extension.to_str()) {
                Some(SEGMENT) => !manifest.segments.iter().any(|used| *used.file == *entry.file_name()),
                // Whoever writes it has it locked.
                Some(NEW_SEGMENT) => File::open(&path).is_ok_and(|file| file.try_lock().is_ok()),
                Some(_) | None => false,
            };
            if is_unused {
                let _ = std::fs::remove_file(path);
            }
        }
    }
}

/// A segment that is written and does not count yet. It is removed if it never does.
pub(super) struct NewSegment {
    path: PathBuf,
    file: File,
}

impl Drop for NewSegment {
    fn drop(&mut self) {
        // Also if the disk is full: a part that is of no use must not keep it so. After it got its name there is nothing here.
        let _ = std::fs::remove_file(&self.path);
    }
}
