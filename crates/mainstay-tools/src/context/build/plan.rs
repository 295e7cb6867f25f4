//! Building a cache: everything is written under a temporary name beside the target, then takes its place in one step
//! (`mainstay_sandbox::AtomicDir`). A build that fails or dies leaves the old cache as it was.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use jiff::Timestamp;
use mainstay_core::{CacheFailure, Error, Kind, Result};
use mainstay_sandbox::{AtomicDir, Dir, EntryKind, Workspace};
use serde::Serialize;

use super::sources::{self, Source};
use crate::context::cache::{
    DOCUMENTS, Entry, INDEX, MANIFEST, MAX_DOCUMENT_BYTES, MAX_MANIFEST_BYTES, Manifest, StoredDocument, version_of,
};
use crate::context::parallel;
use crate::progress::Progress;

/// Documents that are in memory at once, for each thread. More would hardly be faster: a batch takes milliseconds, waiting
/// for its last document microseconds.
const BATCH_PER_THREAD: usize = 64;

/// What to build, from what.
#[derive(Debug, Clone, Copy)]
pub struct Plan<'a> {
    pub sources: &'a Path,
    pub cache: &'a Path,
    /// Replace an existing cache.
    pub force: bool,
    pub created_at: Timestamp,
}

/// The result of a build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuildReport {
    pub documents: usize,
    pub cache_version: String,
}

impl Plan<'_> {
    /// Builds the cache, or leaves everything as it was.
    pub fn build(&self, progress: &Progress) -> Result<BuildReport> {
        let workspace = sources::open(self.sources)?;
        let sources = sources::find(&workspace)?;
        let mut building = AtomicDir::create(self.cache).map_err(|error| self.write_error(&error))?;
        // `commit` checks this again; here it saves the user from waiting for a build that will be refused.
        if !self.force && building.existing().map_err(|error| self.write_error(&error))?.is_some() {
            let message = format!("{} already exists; use --force to replace it.", self.cache.display());
            return Err(CacheFailure::Io.error(message));
        }
        progress.expect(sources.len());
        let entries = parallel::in_pool(|| self.write_documents(&workspace, &sources, &mut building, progress))?;
        let manifest = Manifest::new(entries, self.created_at);
        let put =
            |name, json: Result<Vec<u8>>| building.write_file(name, &json?).map_err(|error| self.write_error(&error));
        // The manifest last: a directory without one is not taken for a cache.
        put(INDEX, pretty_json(&manifest.index()))?;
        put(MANIFEST, pretty_json(&manifest))?;
        building.commit(self.force.then_some(&check_replaceable)).map_err(|error| self.write_error(&error))?;
        Ok(BuildReport { documents: sources.len(), cache_version: manifest.cache_version })
    }

    /// Writes every document. The name of a file depends on the documents before it, so they are handled in batches: read
    /// and hashed in parallel, named in order, written in parallel.
    fn write_documents(
        &self,
        workspace: &Workspace,
        sources: &[Source],
        building: &mut AtomicDir,
        progress: &Progress,
    ) -> Result<Vec<Entry>> {
        let folder = building.create_dir(DOCUMENTS).map_err(|error| self.write_error(&error))?;
        let write =
            |files: Vec<(String, Vec<u8>)>| files.iter().try_for_each(|(name, bytes)| folder.write_file(name, bytes));
        let mut names = FileNames::default();
        let mut entries = Vec::with_capacity(sources.len());
        let mut unwritten = Vec::new();
        for batch in sources.chunks(parallel::threads() * BATCH_PER_THREAD) {
            // One thread writes while the others read the next batch: files that are created in one directory at the same
            // time wait for each other.
            let (written, documents) = parallel::join(
                || write(std::mem::take(&mut unwritten)),
                || parallel::map_documents(batch.len(), progress, |nth| stored_document(workspace, &batch[nth])),
            );
            written.map_err(|error| self.write_error(&error))?;
            for (source, (version, bytes)) in batch.iter().zip(documents?) {
                let name = format!("{}.json", names.assign(&version));
                entries.push(Entry { id: source.id.clone(), version, file: format!("{DOCUMENTS}/{name}") });
                unwritten.push((name, bytes));
            }
        }
        write(unwritten).map_err(|error| self.write_error(&error))?;
        Ok(entries)
    }

    /// On the command line there is no log to look into, so the message says what the system said.
    fn write_error(&self, error: &Error) -> Error {
        let reason = if error.kind == Kind::Internal { error.detail.as_deref() } else { None };
        let reason = reason.unwrap_or(&error.public);
        CacheFailure::Io.because(format!("The cache {} cannot be written: {reason}", self.cache.display()), error)
    }
}

/// Only an empty directory or a cache may be replaced, whole or damaged: one that holds what a cache holds and nothing
/// else.
fn check_replaceable(directory: &Dir) -> Result<()> {
    let refused = |reason: &str| {
        Error::new(Kind::Conflict, format!("the existing directory is not a cache and is not replaced: {reason}."))
    };
    let entries = directory.entries()?;
    let mut has_manifest = entries.is_empty();
    for entry in entries {
        match (entry.name.to_str(), entry.kind) {
            (Some(MANIFEST), EntryKind::File) => has_manifest = true,
            (Some(INDEX), EntryKind::File) => {}
            (Some(DOCUMENTS), EntryKind::Directory) => {
                let is_document = |entry: &&mainstay_sandbox::Entry| {
                    entry.kind == EntryKind::File && entry.name.as_encoded_bytes().ends_with(b".json")
                };
                let documents = directory.child(&entry.name)?.entries()?;
                if let Some(other) = documents.iter().find(|entry| !is_document(entry)) {
                    return Err(refused(&format!("it holds {DOCUMENTS}/{}", other.name.display())));
                }
            }
            _ => return Err(refused(&format!("it holds {}", entry.name.display()))),
        }
    }
    if has_manifest { Ok(()) } else { Err(refused(&format!("it has no {MANIFEST}"))) }
}

/// The version of a document, and its bytes as they are written to its file.
fn stored_document(workspace: &Workspace, source: &Source) -> Result<(String, Vec<u8>)> {
    let content = read(workspace, source)?;
    let version = version_of(content.as_bytes());
    let stored = StoredDocument {
        id: source.id.as_str().into(),
        version: version.as_str().into(),
        source: source.path.as_str().into(),
        content,
        metadata: serde_json::from_str("{}").map_err(Error::internal)?,
    };
    let bytes = serde_json::to_vec(&stored).map_err(Error::internal)?;
    // Escaping may have made it too large for a reader.
    if bytes.len() as u64 > MAX_DOCUMENT_BYTES { Err(too_large(source)) } else { Ok((version, bytes)) }
}

/// The content of a source. Sources may change during a build; one that disappears ends it.
fn read(workspace: &Workspace, source: &Source) -> Result<String> {
    let file = workspace.find(&source.path).and_then(|path| path.open_file());
    let bytes = file.and_then(|file| file.read_whole(MAX_DOCUMENT_BYTES));
    let bytes = bytes.map_err(|error| {
        if error.kind == Kind::NotFound {
            CacheFailure::Io.error(format!("{} was removed while the cache was built; build it again.", source.path))
        } else {
            sources::unreadable(&source.path, &error)
        }
    })?;
    String::from_utf8(bytes.ok_or_else(|| too_large(source))?).map_err(|error| {
        let message = format!(
            "{} is not UTF-8 (its byte {} is not); convert it, or move it out of the sources.",
            source.path,
            error.utf8_error().valid_up_to()
        );
        CacheFailure::Io.error(message)
    })
}

/// The same limit for the source and for the file that is made of it.
fn too_large(source: &Source) -> Error {
    let message = format!("{} is larger than the maximum of {MAX_DOCUMENT_BYTES} bytes for a document.", source.path);
    CacheFailure::Io.error(message)
}

/// Refuses to write what a reader would refuse to read.
fn pretty_json(value: &impl Serialize) -> Result<Vec<u8>> {
    let bytes = serde_json::to_vec_pretty(value).map_err(Error::internal)?;
    if bytes.len() as u64 > MAX_MANIFEST_BYTES {
        let message = format!(
            "There are too many documents for one cache: its manifest would have {} bytes, the maximum is \
             {MAX_MANIFEST_BYTES}.",
            bytes.len()
        );
        return Err(CacheFailure::Io.error(message));
    }
    Ok(bytes)
}

/// Names of the documents' files have the first 12 digits of the content's hash, more where documents share them.
const MIN_DIGITS: usize = 12;
const ALL_DIGITS: usize = 64;

/// Gives out names. Documents have to come in the order of their ids: the first one that wants a name gets it, the next
/// one's name has a digit more, and so on. Documents of equal content run out of digits and get a number.
#[derive(Debug, Default)]
struct FileNames {
    taken: HashSet<String>,
    /// Where to go on for each version; starting over would be quadratic for a content that a thousand documents share.
    tried: HashMap<String, usize>,
}

impl FileNames {
    /// The name of the next document's file, without its extension.
    fn assign(&mut self, version: &str) -> String {
        let digits = digits(version);
        let next = self.tried.entry(version.to_owned()).or_default();
        loop {
            let name = match MIN_DIGITS + *next {
                length if length <= ALL_DIGITS => digits.get(..length).unwrap_or(digits).to_owned(),
                longer => format!("{digits}-{}", longer - ALL_DIGITS),
            };
            *next += 1;
            if self.taken.insert(name.clone()) {
                return name;
            }
        }
    }
}

fn digits(version: &str) -> &str {
    version.strip_prefix("sha256:").unwrap_or(version)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::cache::version_of;

    fn assign(versions: &[String]) -> Vec<String> {
        let mut names = FileNames::default();
        versions.iter().map(|version| names.assign(version)).collect()
    }

    #[test]
    fn equal_contents_get_longer_names_in_the_order_of_the_ids() {
        let (one, other) = (version_of(b""), version_of(b"x"));
        let mut versions = vec![one.clone(); 60];
        versions.insert(1, other.clone());
        let names = assign(&versions);
        let lengths: Vec<usize> = names.iter().map(String::len).collect();
        assert_eq!(lengths[..4], [12, 12, 13, 14]);
        assert_eq!(
            (lengths[53], &names[54], &names[60]),
            (64, &format!("{}-1", digits(&one)), &format!("{}-7", digits(&one)))
        );
        assert_eq!(names.iter().collect::<HashSet<_>>().len(), 61);
        assert!(
            names.iter().all(|name| digits(&one).starts_with(name.split('-').next().unwrap())
                || *name == digits(&other)[..MIN_DIGITS])
        );
    }

    #[test]
    fn shared_prefix_of_two_hashes_is_lengthened_for_the_second() {
        let version = |last: char| format!("sha256:{}{}", "a".repeat(13), last.to_string().repeat(51));
        assert_eq!(assign(&[version('b'), version('c')]), ["a".repeat(12), "a".repeat(13)]);
    }
}
