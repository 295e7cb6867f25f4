//! AtomicDir a cache: everything is written under a temporary name beside the target, then takes its place in one step
//! (`mainstay_sandbox::AtomicDir`). A build that fails or dies leaves the old cache as it was.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use mainstay_core::{CacheFailure, Error, Kind, Result};
use mainstay_sandbox::{AtomicDir, AtomicSubdir, Dir, EntryKind, Workspace};
use serde::Serialize;

use super::file_names;
use super::sources::{self, Source};
use crate::context::cache::{
    DOCUMENTS, Entry, INDEX, MANIFEST, MAX_DOCUMENT_BYTES, MAX_MANIFEST_BYTES, Manifest, StoredDocument, version_of,
};
use crate::context::parallel;
use crate::progress::Progress;

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
    pub fn build(&self, progress: &Progress) -> Result<BuildReport> {
        let workspace = sources::open(self.sources)?;
        let sources = sources::find(&workspace)?;
        let building = AtomicDir::create(self.cache).map_err(|error| self.write_error(&error))?;
        // `commit` checks this again; here it saves the user from waiting for a build that will be refused.
        if !self.force && building.existing().map_err(|error| self.write_error(&error))?.is_some() {
            let message = format!("{} already exists; use --force to replace it.", self.cache.display());
            return Err(CacheFailure::Io.error(message));
        }
        progress.expect(sources.len());
        let manifest = Manifest::new(self.write_documents(&workspace, &sources, &building, progress)?, self.created_at);
        let put =
            |name, json: Result<Vec<u8>>| building.write_file(name, &json?).map_err(|error| self.write_error(&error));
        put(INDEX, pretty_json(&manifest.index()))?;
        put(MANIFEST, pretty_json(&manifest))?;
        building.commit(self.force.then_some(&check_replaceable)).map_err(|error| self.write_error(&error))?;
        Ok(BuildReport { documents: sources.len(), cache_version: manifest.cache_version })
    }

    /// Writes every document. Names follow from the contents of all documents, which are known only at the end; so
    /// documents whose name is still in doubt are written under another one and renamed. Most never are: reading every
    /// source twice instead would double the time of a build.
    fn write_documents(
        &self,
        workspace: &Workspace,
        sources: &[Source],
        building: &AtomicDir,
        progress: &Progress,
    ) -> Result<Vec<Entry>> {
        let folder = building.create_dir(DOCUMENTS).map_err(|error| self.write_error(&error))?;
        // Which document was written under each preferred name: the first to come, in no certain order.
        let written: Mutex<HashMap<String, usize>> = Mutex::default();
        let versions = parallel::map_documents(sources.len(), progress, |nth| {
            let content = read(workspace, &sources[nth])?;
            let version = version_of(content.as_bytes());
            let name = file_names::preferred(&version).to_owned();
            let mut names = written.lock().unwrap_or_else(PoisonError::into_inner);
            let is_first = *names.entry(name.clone()).or_insert(nth) == nth;
            drop(names);
            let name = if is_first { name } else { file_names::temporary(nth) };
            self.write_document(&folder, &name, &sources[nth], &version, content)?;
            Ok(version)
        })?;
        let names = file_names::assign(&versions);
        let written = written.into_inner().unwrap_or_else(PoisonError::into_inner);
        self.rename_documents(&folder, &versions, &names, &written)?;
        let entries = sources.iter().zip(versions).zip(names).map(|((source, version), name)| Entry {
            id: source.id.clone(),
            version,
            file: format!("{DOCUMENTS}/{name}.json"),
        });
        Ok(entries.collect())
    }

    fn write_document(
        &self,
        folder: &AtomicSubdir,
        name: &str,
        source: &Source,
        version: &str,
        content: String,
    ) -> Result<()> {
        let stored = StoredDocument {
            id: source.id.as_str().into(),
            version: version.into(),
            source: source.path.as_str().into(),
            content,
            metadata: serde_json::from_str("{}").map_err(Error::internal)?,
        };
        let bytes = serde_json::to_vec(&stored).map_err(Error::internal)?;
        if bytes.len() as u64 > MAX_DOCUMENT_BYTES {
            return Err(too_large(source));
        }
        folder.write_file(&file_name(name), &bytes).map_err(|error| self.write_error(&error))
    }

    /// Gives every document its final name. Those that have another document's name move out of the way first.
    fn rename_documents(
        &self,
        folder: &AtomicSubdir,
        versions: &[String],
        names: &[String],
        written: &HashMap<String, usize>,
    ) -> Result<()> {
        let rename = |old: &str, new: &str| {
            folder.rename(&file_name(old), &file_name(new)).map_err(|error| self.write_error(&error))
        };
        let mut temporary: Vec<usize> = Vec::new();
        for (name, nth) in written.iter().filter(|(name, nth)| names[**nth] != **name) {
            rename(name, &file_names::temporary(*nth))?;
            temporary.push(*nth);
        }
        let has_temporary_name = |nth: &usize| written.get(file_names::preferred(&versions[*nth])) != Some(nth);
        temporary.extend((0..versions.len()).filter(has_temporary_name));
        temporary.sort_unstable();
        temporary.iter().try_for_each(|nth| rename(&file_names::temporary(*nth), &names[*nth]))
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

fn too_large(source: &Source) -> Error {
    let message = format!("{} is larger than the maximum of {MAX_DOCUMENT_BYTES} bytes for a document.", source.path);
    CacheFailure::Io.error(message)
}

fn file_name(stem: &str) -> String {
    format!("{stem}.json")
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
