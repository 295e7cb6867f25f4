//! A cache on disk, opened by the handle of its directory: what happens to its name meanwhile does not matter.

use std::borrow::Cow;
use std::ffi::OsStr;

use mainstay_core::{Error, Result};
use mainstay_sandbox::{Dir, Facts};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::failure::{Failure, is_absent};
use super::manifest::{DOCUMENTS, Entry, INDEX, MANIFEST, Manifest, version_of};

/// A million documents take about as much.
const LARGEST_MANIFEST: u64 = 256 * 1024 * 1024;

/// The largest document, as it is stored. A build refuses what would be larger.
pub(super) const LARGEST_DOCUMENT: u64 = 256 * 1024 * 1024;

#[derive(Debug)]
pub(super) struct Cache {
    documents: Dir,
    /// What the file system said of the manifest when it was read.
    pub(super) manifest: Facts,
    /// In the order of their ids.
    pub(super) entries: Vec<Entry>,
}

/// A document as it is stored, in this order.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Stored<'a> {
    #[serde(borrow)]
    pub(super) id: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) version: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) source: Cow<'a, str>,
    pub(super) content: String,
    pub(super) metadata: Map<String, Value>,
}

/// A document that is what the manifest says.
#[derive(Debug)]
pub(super) struct Document {
    pub(super) content: String,
    /// What the file system said of its file before it was read.
    pub(super) facts: Facts,
}

impl Cache {
    pub(super) fn open(directory: &Dir) -> Result<Self> {
        let Some((manifest, facts)) = read_manifest(directory)? else {
            return Err(invalid("it has no manifest.json that can be read as one"));
        };
        if let Some(problem) = manifest.problems().into_iter().next() {
            return Err(invalid(&format!("{MANIFEST}: {problem}")));
        }
        let mut entries = manifest.documents;
        entries.sort_by(|a, b| a.id.cmp(&b.id));
        Ok(Self { documents: documents(directory)?, manifest: facts, entries })
    }

    pub(super) fn read(&self, entry: &Entry) -> Result<Document> {
        read_document(&self.documents, entry)
    }

    /// Whether this is still what lies in a directory, by what the file system says of every file. `seen` are those facts
    /// of the documents.
    pub(super) fn is_still(&self, directory: &Dir, seen: &[Facts]) -> bool {
        let same = |dir: &Dir, name: &str, was: &Facts| dir.facts(OsStr::new(name)).is_ok_and(|now| now == *was);
        same(directory, MANIFEST, &self.manifest)
            && directory.child(OsStr::new(DOCUMENTS)).is_ok_and(|documents| {
                let alike =
                    |nth: usize| self.entries[nth].name().is_some_and(|name| same(&documents, name, &seen[nth]));
                super::crew::all(seen.len(), alike)
            })
    }
}

/// What a cache says of itself; nothing if that is not there or is no manifest at all.
pub(super) fn read_manifest(directory: &Dir) -> Result<Option<(Manifest, Facts)>> {
    let found = read_file(directory, MANIFEST, LARGEST_MANIFEST)?;
    Ok(found.and_then(|(bytes, facts)| Some((serde_json::from_slice(&bytes).ok()?, facts))))
}

pub(super) fn read_index(directory: &Dir) -> Result<Option<Vec<u8>>> {
    Ok(read_file(directory, INDEX, LARGEST_MANIFEST)?.map(|(bytes, _)| bytes))
}

pub(super) fn documents(directory: &Dir) -> Result<Dir> {
    directory.child(OsStr::new(DOCUMENTS)).map_err(|error| trouble(DOCUMENTS, "it is not there", &error))
}

pub(super) fn read_document(documents: &Dir, entry: &Entry) -> Result<Document> {
    let Some(name) = entry.name() else { return Err(invalid(&format!("{} is no place for a document", entry.file))) };
    let wrong = |what: &str| invalid(&format!("{}: {what}", entry.file));
    let found = read_file(documents, name, LARGEST_DOCUMENT)?;
    let (bytes, facts) = found.ok_or_else(|| wrong("it is not there, or no file of a reasonable size"))?;
    let stored: Stored<'_> = serde_json::from_slice(&bytes).map_err(|_| wrong("it is no document"))?;
    if stored.id != entry.id {
        return Err(wrong(&format!("it says that it is {:?}, not {:?}", stored.id, entry.id)));
    }
    if stored.version != entry.version || version_of(stored.content.as_bytes()) != entry.version {
        return Err(wrong("its content is not what the manifest says"));
    }
    Ok(Document { content: stored.content, facts })
}

/// Nothing if there is no such file, or it is larger.
fn read_file(directory: &Dir, name: &str, limit: u64) -> Result<Option<(Vec<u8>, Facts)>> {
    let cannot = |error: &Error| Failure::Io.because(format!("{name} of the cache cannot be read."), error);
    let file = match directory.file(OsStr::new(name)) {
        Ok(file) => file,
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(cannot(&error)),
    };
    let facts = *file.facts();
    Ok(file.read_whole(limit).map_err(|error| cannot(&error))?.map(|bytes| (bytes, facts)))
}

fn trouble(name: &str, absent: &str, error: &Error) -> Error {
    if is_absent(error) {
        return invalid(&format!("{name}: {absent}"));
    }
    Failure::Io.because(format!("{name} of the cache cannot be read."), error)
}

/// The problem is told apart, for those who want to know each.
pub(super) fn invalid(problem: &str) -> Error {
    let told = format!("The cache is not as it was built ({problem}). Build it anew.");
    let data = json!({ "code": Failure::CacheInvalid.as_str(), "problem": problem });
    Failure::CacheInvalid.error(told).with_data(data)
}
