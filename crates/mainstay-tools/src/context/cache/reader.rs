//! A cache on disk, opened by the handle of its directory: what happens to its name meanwhile does not matter.

use std::borrow::Cow;
use std::ffi::OsStr;

use mainstay_core::{Error, Result};
use mainstay_sandbox::{Dir, Metadata};
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::ser::SerializeMap as _;
use serde::{Deserialize, Serialize};

use super::defect::Flaw;
use super::error::{Failure, is_absent};
use super::manifest::{DOCUMENTS, Entry, INDEX, MANIFEST, Manifest, version_of};
use crate::context::build::sources;
use crate::context::worker_pool;

/// Half a million documents take about as much. A build refuses what would be larger.
pub(crate) const LARGEST_MANIFEST: u64 = 128 * 1024 * 1024;

/// The largest document, as it is stored. Every core may hold one.
pub(crate) const LARGEST_DOCUMENT: u64 = 64 * 1024 * 1024;

/// The directory of a cache, and what people call it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) directory: &'a Dir,
    pub(crate) name: &'a str,
}

#[derive(Debug)]
pub(crate) struct Cache {
    name: String,
    documents: Dir,
    /// What the file system said of the manifest when it was read.
    pub(crate) manifest: Metadata,
    /// In the order of their ids.
    pub(crate) entries: Vec<Entry>,
}

/// A document as it is stored, in this order.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Stored<'a> {
    #[serde(borrow)]
    pub(crate) id: Cow<'a, str>,
    #[serde(borrow)]
    pub(crate) version: Cow<'a, str>,
    #[serde(borrow)]
    pub(crate) source: Cow<'a, str>,
    pub(crate) content: String,
    pub(crate) metadata: EmptyObject,
}

/// An object that nothing here has a use for: written empty, and read without being kept.
#[derive(Debug)]
pub(crate) struct EmptyObject;

impl Serialize for EmptyObject {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_map(Some(0))?.end()
    }
}

impl<'de> Deserialize<'de> for EmptyObject {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(Self)
    }
}

impl<'de> Visitor<'de> for EmptyObject {
    type Value = Self;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self, A::Error> {
        while members.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(self)
    }
}

/// A document that is what the manifest says.
#[derive(Debug)]
pub(crate) struct Document {
    pub(crate) content: String,
    /// What the file system said of its file before it was read.
    pub(crate) facts: Metadata,
    /// Whether the path that it was made of has its id.
    pub(crate) source_fits: bool,
}

impl Cache {
    pub(crate) fn open(place: Place<'_>) -> Result<Self> {
        let flawed = |flaw: Flaw| flaw.error(place.name);
        let (manifest, facts) = place.manifest()?.map_err(flawed)?;
        if let Some(flaw) = manifest.flaws().next() {
            return Err(flawed(flaw));
        }
        let mut entries = manifest.documents;
        entries.sort_by(|a, b| a.id.cmp(&b.id));
        let documents = place.documents()?.map_err(flawed)?;
        Ok(Self { name: place.name.to_owned(), documents, manifest: facts, entries })
    }

    pub(crate) fn read(&self, entry: &Entry) -> Result<Document> {
        read_document(&self.documents, entry)?.map_err(|flaw| flaw.error(&self.name))
    }

    /// Whether this is still what lies in a directory, by what the file system says of every file. `seen` are those facts
    /// of the documents.
    pub(crate) fn is_still(&self, directory: &Dir, seen: &[Metadata]) -> bool {
        let same = |dir: &Dir, name: &str, was: &Metadata| dir.metadata(OsStr::new(name)).is_ok_and(|now| now == *was);
        same(directory, MANIFEST, &self.manifest)
            && directory.child(OsStr::new(DOCUMENTS)).is_ok_and(|documents| {
                let alike =
                    |nth: usize| self.entries[nth].name().is_some_and(|name| same(&documents, name, &seen[nth]));
                worker_pool::all(seen.len(), alike)
            })
    }
}

impl Place<'_> {
    /// What a cache says of itself.
    pub(crate) fn manifest(self) -> Result<Result<(Manifest, Metadata), Flaw>> {
        let (bytes, facts) = match read_file(self.directory, MANIFEST, LARGEST_MANIFEST)? {
            Ok(found) => found,
            Err(what) => return Ok(Err(Flaw::new(MANIFEST, what))),
        };
        let read = serde_json::from_slice(&bytes).map(|manifest| (manifest, facts));
        Ok(read.map_err(|error| Flaw::new(MANIFEST, "it is no manifest").because(&error)))
    }

    pub(crate) fn index(self) -> Result<Result<Vec<u8>, Flaw>> {
        let found = read_file(self.directory, INDEX, LARGEST_MANIFEST)?;
        Ok(found.map(|(bytes, _)| bytes).map_err(|what| Flaw::new(INDEX, what)))
    }

    pub(crate) fn documents(self) -> Result<Result<Dir, Flaw>> {
        match self.directory.child(OsStr::new(DOCUMENTS)) {
            Ok(documents) => Ok(Ok(documents)),
            Err(error) if is_absent(&error) => Ok(Err(Flaw::new(DOCUMENTS, "it is not there, or is no directory"))),
            Err(error) => Err(unreadable(DOCUMENTS, &error)),
        }
    }
}

/// A document, or what is wrong with it.
pub(crate) fn read_document(documents: &Dir, entry: &Entry) -> Result<Result<Document, Flaw>> {
    let flaw = |what: String| Ok(Err(Flaw::new(&entry.file, what)));
    let Some(name) = entry.name() else { return flaw("it is no place for a document".into()) };
    let (bytes, facts) = match read_file(documents, name, LARGEST_DOCUMENT)? {
        Ok(found) => found,
        Err(what) => return flaw(what),
    };
    let stored: Stored<'_> = match serde_json::from_slice(&bytes) {
        Ok(stored) => stored,
        Err(error) => return Ok(Err(Flaw::new(&entry.file, "it is no document").because(&error))),
    };
    if stored.id != entry.id {
        return flaw(format!("it says that it is {:?}, not {:?}", stored.id, entry.id));
    }
    if stored.version != entry.version || version_of(stored.content.as_bytes()) != entry.version {
        return flaw("its content is not what the manifest says".into());
    }
    Ok(Ok(Document { source_fits: sources::id_of(&stored.source) == stored.id, content: stored.content, facts }))
}

/// A file, or why there is none that can be read.
fn read_file(directory: &Dir, name: &str, limit: u64) -> Result<Result<(Vec<u8>, Metadata), String>> {
    let file = match directory.file(OsStr::new(name)) {
        Ok(file) => file,
        Err(error) if is_absent(&error) => return Ok(Err("it is not there, or is no file".into())),
        Err(error) => return Err(unreadable(name, &error)),
    };
    let facts = *file.metadata();
    let bytes = file.read_whole(limit).map_err(|error| unreadable(name, &error))?;
    Ok(bytes.map(|bytes| (bytes, facts)).ok_or_else(|| format!("it is larger than {limit} bytes")))
}

fn unreadable(name: &str, error: &Error) -> Error {
    Failure::Io.because(format!("{name} of the cache cannot be read: {}", error.public), error)
}
