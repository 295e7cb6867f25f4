//! Holding a whole cache against what it says of itself.

use std::collections::BTreeMap;

use mainstay_core::{Error, Result};
use mainstay_sandbox::Dir;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::cache::{documents, read_document, read_index, read_manifest};
use super::crew;
use super::manifest::{INDEX, MANIFEST, Manifest};
use crate::progress::Progress;

/// What a cache is, in the order of the contract.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Inspection {
    /// Empty if the cache has no manifest.
    pub cache_version: String,
    pub document_count: u64,
    /// Of the files of its documents.
    pub total_bytes: u64,
    /// Whether the manifest is sound and every document has the hash that it says. The index, which nothing here reads,
    /// does not count.
    pub valid: bool,
}

/// A cache that was looked through to its end.
#[derive(Debug)]
pub struct Examined {
    /// Nothing if there is none that can be read as one.
    manifest: Option<Manifest>,
    total_bytes: u64,
    valid: bool,
    /// Everything that is wrong, each in a line.
    pub problems: Vec<String>,
}

impl Examined {
    pub(super) fn read(directory: &Dir, progress: &Progress) -> Result<Self> {
        let Some((manifest, _)) = read_manifest(directory)? else {
            let problem = format!("{MANIFEST}: it is not there, or is no manifest");
            return Ok(Self { manifest: None, total_bytes: 0, valid: false, problems: vec![problem] });
        };
        let problems = manifest.problems().into_iter().map(|problem| format!("{MANIFEST}: {problem}")).collect();
        let mut examined = Self { manifest: None, total_bytes: 0, valid: false, problems };
        examined.look_at_documents(directory, &manifest, progress)?;
        examined.valid = examined.problems.is_empty();
        examined.look_at_index(directory, &manifest)?;
        examined.manifest = Some(manifest);
        Ok(examined)
    }

    fn look_at_index(&mut self, directory: &Dir, manifest: &Manifest) -> Result<()> {
        let found = read_index(directory)?;
        let parsed = found.as_deref().and_then(|bytes| serde_json::from_slice::<BTreeMap<String, String>>(bytes).ok());
        match parsed {
            None => self.problems.push(format!("{INDEX}: it is not there, or is no index")),
            Some(index) => {
                let index: BTreeMap<&str, &str> = index.iter().map(|(id, file)| (id.as_str(), file.as_str())).collect();
                if index != manifest.index() {
                    self.problems.push(format!("{INDEX}: it does not say what {MANIFEST} says"));
                }
            }
        }
        Ok(())
    }

    fn look_at_documents(&mut self, directory: &Dir, manifest: &Manifest, progress: &Progress) -> Result<()> {
        progress.expect(manifest.documents.len());
        let documents = match documents(directory) {
            Ok(documents) => documents,
            Err(error) => return self.note(error),
        };
        let size = |name: &str| documents.facts(name.as_ref()).map_or(0, |facts| facts.size);
        let looked_at = crew::for_each(manifest.documents.len(), progress, |nth| {
            let entry = &manifest.documents[nth];
            Ok(match read_document(&documents, entry) {
                Ok(document) => (document.facts.size, None),
                Err(error) => (entry.name().map_or(0, size), Some(error)),
            })
        })?;
        for (bytes, error) in looked_at {
            self.total_bytes += bytes;
            error.map_or(Ok(()), |error| self.note(error))?;
        }
        Ok(())
    }

    /// A cache that is wrong is what was to be found out; one that cannot be read is not.
    fn note(&mut self, error: Error) -> Result<()> {
        let problem = error.data.as_deref().and_then(|data| data.get("problem")).and_then(Value::as_str);
        let Some(problem) = problem else { return Err(error) };
        self.problems.push(problem.to_owned());
        Ok(())
    }

    pub(super) fn is_damaged(&self) -> bool {
        !self.problems.is_empty()
    }

    /// Whether there is a manifest at all.
    pub fn is_cache(&self) -> bool {
        self.manifest.is_some()
    }

    pub fn inspection(&self) -> Inspection {
        let (cache_version, document_count) = match &self.manifest {
            Some(manifest) => (manifest.cache_version.clone(), manifest.document_count),
            None => (String::new(), 0),
        };
        Inspection { cache_version, document_count, total_bytes: self.total_bytes, valid: self.valid }
    }
}
