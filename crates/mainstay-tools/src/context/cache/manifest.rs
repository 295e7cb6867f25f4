//! The layout of a cache: file names, the manifest and its hashes. Contract 002 freezes all of it, including the order and
//! spelling of the members. A [`Defect`] is what differs from it.

use std::collections::{BTreeMap, HashSet};
use std::fmt;

use jiff::Timestamp;
use mainstay_core::{CacheFailure, Error, hex};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// The directory of the documents.
pub(crate) const DOCUMENTS: &str = "documents";
pub(crate) const MANIFEST: &str = "manifest.json";
pub(crate) const INDEX: &str = "index.json";

/// Everything that can be in the directory of a cache.
pub(crate) const PARTS: &[&str] = &[DOCUMENTS, MANIFEST, INDEX];

/// The content of `manifest.json`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Manifest {
    /// The hash over ids and versions of all documents.
    pub(crate) cache_version: String,
    build_config: BuildConfig,
    created_at: Timestamp,
    pub(crate) document_count: u64,
    pub(crate) documents: Vec<Entry>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct BuildConfig {
    version: String,
    hash_algorithm: String,
}

/// A document in the manifest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub(crate) id: String,
    pub(crate) version: String,
    /// Path of its file in the cache.
    pub(crate) file: String,
}

impl Entry {
    /// The file's name in the directory of documents; `None` if the path leads anywhere else.
    pub(crate) fn file_name(&self) -> Option<&str> {
        let name = self.file.strip_prefix(DOCUMENTS)?.strip_prefix('/')?;
        let is_plain = !name.is_empty() && name != "." && name != ".." && !name.contains(['/', '\0']);
        is_plain.then_some(name)
    }
}

impl BuildConfig {
    /// The only one that exists; part of the cache version.
    fn current() -> Self {
        Self { version: "1".into(), hash_algorithm: "sha256".into() }
    }
}

impl Manifest {
    /// The documents have to be sorted by id.
    pub(crate) fn new(documents: Vec<Entry>, created_at: Timestamp) -> Self {
        Self {
            cache_version: cache_version(&documents),
            build_config: BuildConfig::current(),
            created_at,
            document_count: documents.len() as u64,
            documents,
        }
    }

    /// The content of `index.json`: the file of each id.
    pub(crate) fn index(&self) -> BTreeMap<&str, &str> {
        self.documents.iter().map(|entry| (entry.id.as_str(), entry.file.as_str())).collect()
    }

    /// What contradicts itself, without reading any document. Lazy: a query only needs to know whether there is any.
    pub(crate) fn defects(&self) -> impl Iterator<Item = Defect> + '_ {
        let BuildConfig { version, hash_algorithm } = &self.build_config;
        let listed = self.documents.len();
        let count = (self.document_count != listed as u64)
            .then(|| format!("document_count is {}, but {listed} documents are listed", self.document_count));
        let config = (self.build_config != BuildConfig::current())
            .then(|| format!("unsupported build version {version:?} with hash algorithm {hash_algorithm:?}"));
        let mut ids = HashSet::new();
        let duplicates = self.documents.iter().filter(move |entry| !ids.insert(&entry.id));
        let duplicates = duplicates.map(|entry| format!("{:?} is listed twice", entry.id));
        let outside = self.documents.iter().filter(|entry| entry.file_name().is_none());
        let outside = outside.map(|entry| format!("{:?} is in {:?}, not in {DOCUMENTS}/", entry.id, entry.file));
        let version = std::iter::once_with(|| {
            (self.cache_version != cache_version(&self.documents))
                .then(|| format!("cache_version {:?} does not match the documents", self.cache_version))
        });
        let problems = count.into_iter().chain(config).chain(duplicates).chain(outside).chain(version.flatten());
        problems.map(|problem| Defect::new(MANIFEST, problem))
    }
}

/// An entry by its id, of entries sorted by id.
pub(crate) fn find_entry<'e>(entries: &'e [Entry], id: &str) -> Option<&'e Entry> {
    entries.binary_search_by(|entry| entry.id.as_str().cmp(id)).ok().map(|nth| &entries[nth])
}

/// The id of the document that a source file of this path becomes.
pub(crate) fn document_id(path: &str) -> String {
    path.replace('\\', "/").trim_start_matches("./").to_lowercase()
}

/// The version of a document: the hash of its content alone.
pub(crate) fn version_of(content: &[u8]) -> String {
    format!("sha256:{}", hex(&Sha256::digest(content)))
}

/// The hash over the build configuration and every id and version, as the contract concatenates them.
fn cache_version(documents: &[Entry]) -> String {
    let mut ordered: Vec<&Entry> = documents.iter().collect();
    ordered.sort_by(|a, b| a.id.cmp(&b.id));
    let mut hasher = Sha256::new();
    hasher.update(serde_json::to_vec(&BuildConfig::current()).unwrap_or_default());
    for entry in ordered {
        for part in [&entry.id, ":", &entry.version] {
            hasher.update(part);
        }
    }
    format!("sha256:{}", hex(&hasher.finalize()))
}

/// The longest text of a defect.
const MAX_CHARS: usize = 300;

/// One part of a cache that is not as it was built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Defect {
    /// Path of the file in the cache.
    file: String,
    problem: String,
    /// The parser's message, for the operator.
    detail: Option<String>,
}

impl Defect {
    /// A manipulated cache may hold names of any length; both texts are cut.
    pub(crate) fn new(file: impl AsRef<str>, problem: impl AsRef<str>) -> Self {
        let cut = |text: &str| text.chars().take(MAX_CHARS).collect();
        Self { file: cut(file.as_ref()), problem: cut(problem.as_ref()), detail: None }
    }

    pub(crate) fn with_detail(self, detail: &dyn fmt::Display) -> Self {
        Self { detail: Some(detail.to_string()), ..self }
    }

    /// The error of a call that needed this cache.
    pub(crate) fn into_error(self, cache: &str) -> Error {
        let Self { file, problem, detail } = self;
        let message = format!("The cache {cache} is damaged ({file}: {problem}). Build it again.");
        let error = CacheFailure::CacheInvalid.error(message);
        match detail {
            Some(detail) => error.with_detail(detail),
            None => error,
        }
    }
}

impl fmt::Display for Defect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.file, self.problem)?;
        self.detail.as_ref().map_or(Ok(()), |detail| write!(f, " ({detail})"))
    }
}
