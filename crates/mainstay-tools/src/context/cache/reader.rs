//! Reading a cache: every document is checked against the hash in the manifest before its content is used.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::OsStr;

use mainstay_core::{CacheFailure, Error, Kind, Result};
use mainstay_sandbox::{Dir, Metadata};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::manifest::{DOCUMENTS, Defect, Entry, INDEX, MANIFEST, Manifest, document_id, version_of};
use crate::context::parallel;

/// The largest manifest that is read or built: about half a million documents.
pub(crate) const MAX_MANIFEST_BYTES: u64 = 128 * 1024 * 1024;

/// The largest document as it is stored. Every core may hold one in memory.
pub(crate) const MAX_DOCUMENT_BYTES: u64 = 64 * 1024 * 1024;

/// The opened directory of a cache, and the name it goes by in errors.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CacheDir<'a> {
    pub(crate) directory: &'a Dir,
    pub(crate) name: &'a str,
}

/// A cache whose manifest is consistent. Documents are read on demand.
#[derive(Debug)]
pub(crate) struct Cache {
    name: String,
    documents: Dir,
    /// The manifest's file metadata when it was read.
    pub(crate) manifest: Metadata,
    /// Sorted by id.
    pub(crate) entries: Vec<Entry>,
}

/// The content of a document's file, with the members in the contract's order.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct StoredDocument<'a> {
    #[serde(borrow)]
    pub(crate) id: Cow<'a, str>,
    #[serde(borrow)]
    pub(crate) version: Cow<'a, str>,
    #[serde(borrow)]
    pub(crate) source: Cow<'a, str>,
    pub(crate) content: String,
    /// An object that is not used. Kept unparsed: a hostile one of 64 MiB would take many times that as values.
    #[serde(borrow)]
    pub(crate) metadata: &'a RawValue,
}

/// A document whose hash is that of the manifest.
#[derive(Debug)]
pub(crate) struct Document {
    pub(crate) content: String,
    /// Its file's metadata from before it was read.
    pub(crate) metadata: Metadata,
    /// Whether its source path has the document's id. Not part of the hash, so only `verify` reports it.
    pub(crate) source_matches_id: bool,
}

/// Why a part of a cache could not be read.
#[derive(Debug)]
pub(crate) enum ReadError {
    /// It is not as it was built. `verify` collects these.
    Defect(Defect),
    /// The system failed; says nothing about the cache.
    Failed(Error),
}

impl From<Defect> for ReadError {
    fn from(defect: Defect) -> Self {
        Self::Defect(defect)
    }
}

impl ReadError {
    fn into_error(self, cache: &str) -> Error {
        match self {
            Self::Defect(defect) => defect.into_error(cache),
            Self::Failed(error) => error,
        }
    }
}

impl Cache {
    /// Reads the manifest and refuses an inconsistent one.
    pub(crate) fn open(cache: CacheDir<'_>) -> Result<Self> {
        let error = |error: ReadError| error.into_error(cache.name);
        let (manifest, metadata) = cache.manifest().map_err(error)?;
        if let Some(defect) = manifest.defects().next() {
            return Err(defect.into_error(cache.name));
        }
        let documents = cache.documents().map_err(error)?;
        let mut entries = manifest.documents;
        entries.sort_by(|a, b| a.id.cmp(&b.id));
        Ok(Self { name: cache.name.to_owned(), documents, manifest: metadata, entries })
    }

    /// Reads and verifies one document.
    pub(crate) fn read(&self, entry: &Entry) -> Result<Document> {
        read_document(&self.documents, entry).map_err(|error| error.into_error(&self.name))
    }

    /// Whether the directory still holds this cache, judged by the metadata of every file. `documents` is that of the
    /// documents when they were read.
    pub(crate) fn is_unchanged(&self, directory: &Dir, documents: &[Metadata]) -> bool {
        let same = |dir: &Dir, name: &str, was: &Metadata| dir.metadata(OsStr::new(name)).is_ok_and(|now| now == *was);
        same(directory, MANIFEST, &self.manifest)
            && directory.child(OsStr::new(DOCUMENTS)).is_ok_and(|dir| {
                let unchanged =
                    |nth: usize| self.entries[nth].file_name().is_some_and(|name| same(&dir, name, &documents[nth]));
                parallel::all(documents.len(), unchanged)
            })
    }
}

impl CacheDir<'_> {
    pub(crate) fn manifest(self) -> Result<(Manifest, Metadata), ReadError> {
        let (bytes, metadata) = read_file(self.directory, MANIFEST, MANIFEST, MAX_MANIFEST_BYTES)?;
        let manifest = serde_json::from_slice(&bytes)
            .map_err(|error| Defect::new(MANIFEST, "not a valid manifest").with_detail(&error))?;
        Ok((manifest, metadata))
    }

    /// `index.json` is for other programs: only `verify` reads it.
    pub(crate) fn index(self) -> Result<BTreeMap<String, String>, ReadError> {
        let (bytes, _) = read_file(self.directory, INDEX, INDEX, MAX_MANIFEST_BYTES)?;
        let index = serde_json::from_slice(&bytes);
        Ok(index.map_err(|error| Defect::new(INDEX, "not a valid index").with_detail(&error))?)
    }

    pub(crate) fn documents(self) -> Result<Dir, ReadError> {
        let documents = self.directory.child(OsStr::new(DOCUMENTS));
        documents.map_err(|error| unreadable(DOCUMENTS, "missing, or not a directory", &error))
    }
}

/// Reads a document and checks id and hash against its entry in the manifest.
pub(crate) fn read_document(documents: &Dir, entry: &Entry) -> Result<Document, ReadError> {
    let defect = |problem: &str| ReadError::from(Defect::new(&entry.file, problem));
    let name = entry.file_name().ok_or_else(|| defect("not a path of a document"))?;
    let (bytes, metadata) = read_file(documents, name, &entry.file, MAX_DOCUMENT_BYTES)?;
    let stored: StoredDocument<'_> = serde_json::from_slice(&bytes)
        .map_err(|error| Defect::new(&entry.file, "not a valid document").with_detail(&error))?;
    if !stored.metadata.get().starts_with('{') {
        return Err(defect("not a valid document: metadata is not an object"));
    }
    if stored.id != entry.id {
        return Err(defect(&format!("its id is {:?} instead of {:?}", stored.id, entry.id)));
    }
    if stored.version != entry.version || version_of(stored.content.as_bytes()) != entry.version {
        return Err(defect("its content does not match the hash in the manifest"));
    }
    let source_matches_id = document_id(&stored.source) == stored.id;
    Ok(Document { source_matches_id, content: stored.content, metadata })
}

/// Reads a file of the cache; `path` is what it is called in errors.
fn read_file(directory: &Dir, name: &str, path: &str, max_bytes: u64) -> Result<(Vec<u8>, Metadata), ReadError> {
    let file = directory.file(OsStr::new(name)).map_err(|error| unreadable(path, "missing, or not a file", &error))?;
    // Of the opened file, from before it is read: a change meanwhile then differs from it.
    let metadata = *file.metadata();
    match file.read_whole(max_bytes) {
        Ok(Some(bytes)) => Ok((bytes, metadata)),
        Ok(None) => Err(Defect::new(path, format!("larger than {max_bytes} bytes")).into()),
        Err(error) => Err(ReadError::Failed(io_error(path, &error))),
    }
}

/// Whether something is missing or of the wrong kind, as opposed to a system that does not let us read it.
pub(crate) fn is_absent(error: &Error) -> bool {
    matches!(error.kind, Kind::NotFound | Kind::Invalid)
}

/// Something that is absent is a defect of the cache; any other error is the system's.
fn unreadable(path: &str, problem: &str, error: &Error) -> ReadError {
    if is_absent(error) { Defect::new(path, problem).into() } else { ReadError::Failed(io_error(path, error)) }
}

fn io_error(path: &str, error: &Error) -> Error {
    CacheFailure::Io.because(format!("{path} of the cache cannot be read: {}", error.public), error)
}

/// More replacements during one read are deliberate; then the last result stands.
const MAX_TRIES: usize = 100;

/// Opens a cache and reads from it. A build that replaces the cache deletes the old directory, which to a reader looks
/// like damage; so if the result is doubtful and the name leads to another directory by now, that one is read instead.
pub(crate) fn retry_if_replaced<T>(
    open: impl Fn() -> Result<Dir>,
    read: impl Fn(&Dir) -> Result<T>,
    is_damaged: impl Fn(&T) -> bool,
) -> Result<T> {
    let mut directory = open()?;
    for _ in 0..MAX_TRIES {
        let result = read(&directory);
        let is_doubtful = match &result {
            Ok(value) => is_damaged(value),
            Err(error) => matches!(CacheFailure::of(error), CacheFailure::CacheInvalid | CacheFailure::Io),
        };
        if !is_doubtful {
            return result;
        }
        let current = open()?;
        if current.is_same(&directory) {
            return result;
        }
        directory = current;
    }
    read(&directory)
}
