//! Holding a whole cache against what it says of itself.

use std::collections::{BTreeMap, HashSet};

use mainstay_core::Result;
use mainstay_sandbox::Dir;
use schemars::JsonSchema;
use serde::Serialize;

use super::defect::Flaw;
use super::error::Failure;
use super::manifest::{INDEX, MANIFEST, Manifest, PARTS};
use super::reader::{Place, read_document};
use crate::context::worker_pool;
use crate::progress::Progress;

/// What a cache is, in the order of the contract.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Inspection {
    /// Empty if the cache has no manifest.
    pub cache_version: String,
    pub document_count: u64,
    /// Of the files of its documents.
    pub total_bytes: u64,
    /// Whether the manifest is sound and every document has the hash that it says. What else may be wrong, such as with
    /// the index, which nothing here reads, does not count.
    pub valid: bool,
}

/// A cache that was looked through to its end.
#[derive(Debug)]
pub struct Examined {
    /// Nothing if there is none that can be read as one.
    manifest: Option<Manifest>,
    total_bytes: u64,
    valid: bool,
    /// Everything that is wrong.
    pub flaws: Vec<Flaw>,
}

impl Examined {
    pub(crate) fn read(place: Place<'_>, progress: &Progress) -> Result<Self> {
        let mut examined = Self { manifest: None, total_bytes: 0, valid: false, flaws: Vec::new() };
        match place.manifest()? {
            Err(flaw) => examined.flaws.push(flaw),
            Ok((manifest, _)) => {
                examined.flaws.extend(manifest.flaws());
                examined.look_at_documents(place, &manifest, progress)?;
                examined.flaws.extend(index_flaw(place, &manifest)?);
                examined.manifest = Some(manifest);
            }
        }
        examined.look_for_strangers(place.directory, "", |name| PARTS.contains(&name))?;
        Ok(examined)
    }

    fn look_at_documents(&mut self, place: Place<'_>, manifest: &Manifest, progress: &Progress) -> Result<()> {
        progress.expect(manifest.documents.len());
        let documents = match place.documents()? {
            Ok(documents) => documents,
            Err(flaw) => {
                self.flaws.push(flaw);
                return Ok(());
            }
        };
        let size = |name: &str| documents.metadata(name.as_ref()).map_or(0, |facts| facts.size);
        let looked_at = worker_pool::for_each(manifest.documents.len(), progress, |nth| {
            let entry = &manifest.documents[nth];
            Ok(match read_document(&documents, entry)? {
                Ok(document) => (document.facts.size, document.source_fits, None),
                Err(flaw) => (entry.name().map_or(0, size), true, Some(flaw)),
            })
        })?;
        let mut odd = Vec::new();
        for (nth, (bytes, source_fits, flaw)) in looked_at.into_iter().enumerate() {
            let entry = &manifest.documents[nth];
            self.total_bytes = self.total_bytes.saturating_add(bytes);
            self.flaws.extend(flaw);
            odd.extend((!source_fits).then(|| Flaw::new(&entry.file, "its source is not the path of its id")));
        }
        self.valid = self.flaws.is_empty();
        self.flaws.extend(odd);
        let sorted = manifest.documents.is_sorted_by(|a, b| a.id < b.id);
        self.flaws.extend((!sorted).then(|| Flaw::new(MANIFEST, "its documents are not in the order of their ids")));
        let known: HashSet<&str> = manifest.documents.iter().filter_map(|entry| entry.name()).collect();
        self.look_for_strangers(&documents, "documents/", |name| known.contains(name))
    }

    /// Files that the cache says nothing of.
    fn look_for_strangers(&mut self, directory: &Dir, within: &str, known: impl Fn(&str) -> bool) -> Result<()> {
        let cannot = |error| Failure::Io.because("A directory of the cache cannot be read.", &error);
        let entries = directory.entries().map_err(cannot)?;
        let names = entries.iter().map(|entry| entry.name.to_string_lossy()).filter(|name| !known(name));
        let mut strangers: Vec<Flaw> =
            names.map(|name| Flaw::new(format!("{within}{name}"), "it is no part of the cache")).collect();
        strangers.sort_by_key(ToString::to_string);
        self.flaws.extend(strangers);
        Ok(())
    }

    pub(crate) fn is_damaged(&self) -> bool {
        !self.flaws.is_empty()
    }

    /// What keeps it from being a cache at all.
    pub fn no_cache(&self) -> Option<&Flaw> {
        self.flaws.first().filter(|_| self.manifest.is_none())
    }

    pub fn inspection(&self) -> Inspection {
        let (cache_version, document_count) = match &self.manifest {
            Some(manifest) => (manifest.cache_version.clone(), manifest.document_count),
            None => (String::new(), 0),
        };
        Inspection { cache_version, document_count, total_bytes: self.total_bytes, valid: self.valid }
    }
}

fn index_flaw(place: Place<'_>, manifest: &Manifest) -> Result<Option<Flaw>> {
    let bytes = match place.index()? {
        Ok(bytes) => bytes,
        Err(flaw) => return Ok(Some(flaw)),
    };
    Ok(match serde_json::from_slice::<BTreeMap<String, String>>(&bytes) {
        Err(error) => Some(Flaw::new(INDEX, "it is no index").because(&error)),
        Ok(index) => {
            let index: BTreeMap<&str, &str> = index.iter().map(|(id, file)| (id.as_str(), file.as_str())).collect();
            (index != manifest.index()).then(|| Flaw::new(INDEX, format!("it does not say what {MANIFEST} says")))
        }
    })
}
