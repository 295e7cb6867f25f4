//! Verifying a whole cache: every file is read and compared with the manifest.

use std::collections::{BTreeMap, HashSet};

use mainstay_core::{CacheFailure, Result};
use mainstay_sandbox::Dir;
use schemars::JsonSchema;
use serde::Serialize;

use super::manifest::{Defect, INDEX, MANIFEST, Manifest, PARTS};
use super::reader::{CacheDir, ReadError, read_document};
use crate::context::parallel;
use crate::progress::Progress;

/// The contract's description of a cache, with the members in its order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Inspection {
    /// Empty if the cache has no manifest.
    pub cache_version: String,
    pub document_count: u64,
    /// Size of the documents' files.
    pub total_bytes: u64,
    /// Whether the manifest is consistent and every document has the hash it lists. Other defects, such as a wrong index,
    /// do not count.
    pub valid: bool,
}

/// The result of reading a cache to its end.
#[derive(Debug, Default)]
pub struct Verification {
    /// `None` if it cannot be read as one.
    manifest: Option<Manifest>,
    total_bytes: u64,
    valid: bool,
    /// Everything that is wrong, in the order it was found.
    pub defects: Vec<Defect>,
}

impl Verification {
    pub(crate) fn of(cache: CacheDir<'_>, progress: &Progress) -> Result<Self> {
        let mut verification = Self::default();
        if let Some((manifest, _)) = verification.check(cache.manifest())? {
            verification.defects.extend(manifest.defects());
            verification.verify_documents(cache, &manifest, progress)?;
            if let Some(index) = verification.check(cache.index())? {
                let index: BTreeMap<&str, &str> = index.iter().map(|(id, file)| (id.as_str(), file.as_str())).collect();
                let differs = index != manifest.index();
                let defect = || Defect::new(INDEX, format!("it does not match {MANIFEST}"));
                verification.defects.extend(differs.then(defect));
            }
            verification.manifest = Some(manifest);
        }
        verification.find_unknown_files(cache.directory, "", |name| PARTS.contains(&name))?;
        Ok(verification)
    }

    /// Notes a defect and goes on without the value; an error of the system ends the verification.
    fn check<T>(&mut self, read: Result<T, ReadError>) -> Result<Option<T>> {
        match read {
            Ok(value) => Ok(Some(value)),
            Err(ReadError::Defect(defect)) => {
                self.defects.push(defect);
                Ok(None)
            }
            Err(ReadError::Failed(error)) => Err(error),
        }
    }

    /// Reads every document in parallel; defects are reported in the order of the manifest.
    fn verify_documents(&mut self, cache: CacheDir<'_>, manifest: &Manifest, progress: &Progress) -> Result<()> {
        progress.expect(manifest.documents.len());
        let Some(documents) = self.check(cache.documents())? else { return Ok(()) };
        let size = |name: &str| documents.metadata(name.as_ref()).map_or(0, |metadata| metadata.size);
        let results = parallel::map_documents(manifest.documents.len(), progress, |nth| {
            let entry = &manifest.documents[nth];
            match read_document(&documents, entry) {
                Ok(document) => Ok((document.metadata.size, document.source_matches_id, None)),
                // The size of a damaged document counts, too, as far as its file exists.
                Err(ReadError::Defect(defect)) => Ok((entry.file_name().map_or(0, size), true, Some(defect))),
                Err(ReadError::Failed(error)) => Err(error),
            }
        })?;
        let mut wrong_sources = Vec::new();
        for (entry, (bytes, source_matches_id, defect)) in manifest.documents.iter().zip(results) {
            self.total_bytes = self.total_bytes.saturating_add(bytes);
            self.defects.extend(defect);
            let wrong_source = || Defect::new(&entry.file, "its source is not the path of its id");
            wrong_sources.extend((!source_matches_id).then(wrong_source));
        }
        // What follows is a defect, but not one that the contract's `valid` covers.
        self.valid = self.defects.is_empty();
        self.defects.extend(wrong_sources);
        let sorted = manifest.documents.is_sorted_by(|a, b| a.id < b.id);
        self.defects.extend((!sorted).then(|| Defect::new(MANIFEST, "its documents are not sorted by id")));
        let known: HashSet<&str> = manifest.documents.iter().filter_map(|entry| entry.file_name()).collect();
        self.find_unknown_files(&documents, "documents/", |name| known.contains(name))
    }

    /// Reports files that a build would not have written, sorted by name.
    fn find_unknown_files(&mut self, directory: &Dir, path: &str, is_known: impl Fn(&str) -> bool) -> Result<()> {
        let cannot = |error| CacheFailure::Io.because("A directory of the cache cannot be read.", &error);
        let entries = directory.entries().map_err(cannot)?;
        let names = entries.iter().map(|entry| entry.name.to_string_lossy()).filter(|name| !is_known(name));
        let mut unknown: Vec<Defect> =
            names.map(|name| Defect::new(format!("{path}{name}"), "not part of the cache")).collect();
        unknown.sort_by_key(ToString::to_string);
        self.defects.extend(unknown);
        Ok(())
    }

    pub(crate) fn has_defects(&self) -> bool {
        !self.defects.is_empty()
    }

    /// Why the directory is not a cache at all, if it is not.
    pub fn missing_manifest(&self) -> Option<&Defect> {
        self.defects.first().filter(|_| self.manifest.is_none())
    }

    /// What `context_inspect_cache` and `mainstay context inspect` report.
    pub fn inspection(&self) -> Inspection {
        let (cache_version, document_count) = match &self.manifest {
            Some(manifest) => (manifest.cache_version.clone(), manifest.document_count),
            None => (String::new(), 0),
        };
        Inspection { cache_version, document_count, total_bytes: self.total_bytes, valid: self.valid }
    }
}
