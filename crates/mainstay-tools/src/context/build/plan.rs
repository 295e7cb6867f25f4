//! Building a cache: all of it under a name of our own, then in its place.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use mainstay_core::{Error, Kind, Result};
use mainstay_sandbox::{AtomicDir, AtomicSubdir, Dir, EntryKind, Workspace};
use serde::Serialize;

use super::file_names::{Stems, spare};
use super::sources::{self, Source};
use crate::context::cache::error::Failure;
use crate::context::cache::manifest::{DOCUMENTS, Entry, INDEX, MANIFEST, Manifest, version_of};
use crate::context::cache::reader::{EmptyObject, LARGEST_DOCUMENT, LARGEST_MANIFEST, Stored};
use crate::context::worker_pool;
use crate::progress::Progress;

/// What is built of what.
#[derive(Debug, Clone, Copy)]
pub struct Plan<'a> {
    pub sources: &'a Path,
    pub cache: &'a Path,
    /// A cache that is there already is replaced.
    pub force: bool,
    pub created_at: Timestamp,
}

/// A cache that has been built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Built {
    pub documents: usize,
    pub cache_version: String,
}

impl Plan<'_> {
    pub fn build(&self, progress: &Progress) -> Result<Built> {
        let workspace = sources::open(self.sources)?;
        let sources = sources::find(&workspace)?;
        let building = AtomicDir::create(self.cache).map_err(|error| self.cannot(&error))?;
        // Nobody wants to wait for this to be told only at the end.
        if !self.force && building.existing().map_err(|error| self.cannot(&error))?.is_some() {
            let told = format!("{} is there already; build with --force to replace it.", self.cache.display());
            return Err(Failure::Io.error(told));
        }
        progress.expect(sources.len());
        let manifest = Manifest::new(self.store(&workspace, &sources, &building, progress)?, self.created_at);
        let put =
            |name, content: Result<Vec<u8>>| building.write_file(name, &content?).map_err(|error| self.cannot(&error));
        put(INDEX, pretty(&manifest.index()))?;
        put(MANIFEST, pretty(&manifest))?;
        building.commit(self.force.then_some(&may_be_replaced)).map_err(|error| self.cannot(&error))?;
        Ok(Built { documents: sources.len(), cache_version: manifest.cache_version })
    }

    /// Writes every document. Files are named after their content, so names that several of them want are settled once
    /// all are known: which of them was written first must not show.
    fn store(
        &self,
        workspace: &Workspace,
        sources: &[Source],
        building: &AtomicDir,
        progress: &Progress,
    ) -> Result<Vec<Entry>> {
        let folder = building.create_dir(DOCUMENTS).map_err(|error| self.cannot(&error))?;
        let taken: Mutex<HashMap<String, usize>> = Mutex::default();
        let versions = worker_pool::for_each(sources.len(), progress, |nth| {
            let content = read(workspace, &sources[nth])?;
            let version = version_of(content.as_bytes());
            let stem = Stems::shortest(&version).to_owned();
            let first = *taken.lock().unwrap_or_else(PoisonError::into_inner).entry(stem.clone()).or_insert(nth) == nth;
            let name = if first { file_name(&stem) } else { file_name(&spare(nth)) };
            self.write(&folder, &name, &sources[nth], &version, content)?;
            Ok(version)
        })?;
        let stems = Stems::of(&versions);
        let taken = taken.into_inner().unwrap_or_else(PoisonError::into_inner);
        self.settle(&folder, &versions, &stems, &taken)?;
        let entries = sources.iter().zip(versions).zip(stems.names()).map(|((source, version), stem)| Entry {
            id: source.id.clone(),
            version,
            file: format!("{DOCUMENTS}/{}", file_name(stem)),
        });
        Ok(entries.collect())
    }

    fn write(&self, folder: &AtomicSubdir, name: &str, source: &Source, version: &str, content: String) -> Result<()> {
        let stored = Stored {
            id: source.id.as_str().into(),
            version: version.into(),
            source: source.path.as_str().into(),
            content,
            metadata: EmptyObject,
        };
        let bytes = serde_json::to_vec(&stored).map_err(Error::internal)?;
        if bytes.len() as u64 > LARGEST_DOCUMENT {
            return Err(too_large(source));
        }
        folder.write_file(name, &bytes).map_err(|error| self.cannot(&error))
    }

    /// Renames those that were not written under their own name. First those that have another's, then the others.
    fn settle(
        &self,
        folder: &AtomicSubdir,
        versions: &[String],
        stems: &Stems,
        taken: &HashMap<String, usize>,
    ) -> Result<()> {
        let rename =
            |old: &str, new: &str| folder.rename(&file_name(old), &file_name(new)).map_err(|error| self.cannot(&error));
        let named = |nth: usize| (&versions[nth], &stems.names()[nth]);
        let strangers = taken.iter().filter(|(stem, nth)| stems.names()[**nth] != **stem);
        let mut moved: Vec<usize> = Vec::new();
        for (stem, nth) in strangers {
            rename(stem, &spare(*nth))?;
            moved.push(*nth);
        }
        moved.extend((0..versions.len()).filter(|nth| taken.get(Stems::shortest(named(*nth).0)) != Some(nth)));
        moved.sort_unstable();
        moved.iter().try_for_each(|nth| rename(&spare(*nth), named(*nth).1))
    }

    fn cannot(&self, error: &Error) -> Error {
        // What the system says is for whoever runs this; there is no log to look into.
        let reason = if error.kind == Kind::Internal { error.detail.as_deref() } else { None };
        let reason = reason.unwrap_or(&error.public);
        Failure::Io.because(format!("The cache {} cannot be written: {reason}", self.cache.display()), error)
    }
}

/// An empty directory, or one that holds what a cache holds and nothing else: only a cache may be lost. It need not be
/// whole.
fn may_be_replaced(directory: &Dir) -> Result<()> {
    let kept =
        |what: &str| Error::new(Kind::Conflict, format!("what is there is no cache and is not replaced: {what}."));
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
                if let Some(stranger) = documents.iter().find(|entry| !is_document(entry)) {
                    return Err(kept(&format!("it holds {DOCUMENTS}/{}", stranger.name.display())));
                }
            }
            _ => return Err(kept(&format!("it holds {}", entry.name.display()))),
        }
    }
    if has_manifest { Ok(()) } else { Err(kept(&format!("it has no {MANIFEST}"))) }
}

fn read(workspace: &Workspace, source: &Source) -> Result<String> {
    let file = workspace.find(&source.path).and_then(|spot| spot.open_file());
    let bytes = file.and_then(|file| file.read_whole(LARGEST_DOCUMENT));
    let bytes = bytes.map_err(|error| {
        if error.kind == Kind::NotFound {
            Failure::Io.error(format!("{} went away while the cache was built; build it again.", source.path))
        } else {
            sources::unreadable(&source.path, &error)
        }
    })?;
    String::from_utf8(bytes.ok_or_else(|| too_large(source))?).map_err(|error| {
        let told = format!(
            "{} is not UTF-8 (its byte {} is not); convert it, or move it out of the sources.",
            source.path,
            error.utf8_error().valid_up_to()
        );
        Failure::Io.error(told)
    })
}

fn too_large(source: &Source) -> Error {
    let told = format!("{} is larger than a document can be, which is {LARGEST_DOCUMENT} bytes.", source.path);
    Failure::Io.error(told)
}

fn file_name(stem: &str) -> String {
    format!("{stem}.json")
}

/// Whoever reads it has a limit.
fn pretty(value: &impl Serialize) -> Result<Vec<u8>> {
    let bytes = serde_json::to_vec_pretty(value).map_err(Error::internal)?;
    if bytes.len() as u64 > LARGEST_MANIFEST {
        let told = format!(
            "These are too many documents for one cache: its manifest would have {} bytes, more than {LARGEST_MANIFEST}.",
            bytes.len()
        );
        return Err(Failure::Io.error(told));
    }
    Ok(bytes)
}
