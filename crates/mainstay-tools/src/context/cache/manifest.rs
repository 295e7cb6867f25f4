//! What a cache says of itself. The layout is frozen: order and spelling of the members are part of it.

use std::collections::{BTreeMap, HashSet};

use jiff::Timestamp;
use mainstay_core::hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::defect::Flaw;

/// Where a cache's documents lie in it.
pub(crate) const DOCUMENTS: &str = "documents";
pub(crate) const MANIFEST: &str = "manifest.json";
pub(crate) const INDEX: &str = "index.json";

/// Everything that can be in a cache.
pub(crate) const PARTS: &[&str] = &[DOCUMENTS, MANIFEST, INDEX];

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Manifest {
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

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub(crate) id: String,
    pub(crate) version: String,
    pub(crate) file: String,
}

impl Entry {
    /// The file's name in the directory of documents; nothing if it lies anywhere else.
    pub(crate) fn name(&self) -> Option<&str> {
        let name = self.file.strip_prefix(DOCUMENTS)?.strip_prefix('/')?;
        let plain = !name.is_empty() && name != "." && name != ".." && !name.contains(['/', '\0']);
        plain.then_some(name)
    }
}

impl BuildConfig {
    fn current() -> Self {
        Self { version: "1".into(), hash_algorithm: "sha256".into() }
    }
}

impl Manifest {
    /// Of documents in the order of their ids.
    pub(crate) fn new(documents: Vec<Entry>, created_at: Timestamp) -> Self {
        Self {
            cache_version: cache_version(&documents),
            build_config: BuildConfig::current(),
            created_at,
            document_count: documents.len() as u64,
            documents,
        }
    }

    pub(crate) fn index(&self) -> BTreeMap<&str, &str> {
        self.documents.iter().map(|entry| (entry.id.as_str(), entry.file.as_str())).collect()
    }

    /// What contradicts itself, before any document is looked at. Whoever wants to know only whether anything does takes
    /// the first.
    pub(crate) fn flaws(&self) -> impl Iterator<Item = Flaw> + '_ {
        let BuildConfig { version, hash_algorithm } = &self.build_config;
        let listed = self.documents.len();
        let count = (self.document_count != listed as u64)
            .then(|| format!("it counts {} documents and lists {listed}", self.document_count));
        let config = (self.build_config != BuildConfig::current())
            .then(|| format!("it was built as version {version:?} with {hash_algorithm:?}, which is not known here"));
        let mut ids = HashSet::new();
        let twice = self.documents.iter().filter(move |entry| !ids.insert(&entry.id));
        let twice = twice.map(|entry| format!("it lists {:?} twice", entry.id));
        let elsewhere = self.documents.iter().filter(|entry| entry.name().is_none());
        let elsewhere = elsewhere.map(|entry| format!("{:?} is in {:?}, not in {DOCUMENTS}/", entry.id, entry.file));
        let version = std::iter::once_with(|| {
            (self.cache_version != cache_version(&self.documents))
                .then(|| format!("its cache_version {:?} is not that of its documents", self.cache_version))
        });
        let what = count.into_iter().chain(config).chain(twice).chain(elsewhere).chain(version.flatten());
        what.map(|what| Flaw::new(MANIFEST, what))
    }
}

/// The version of a document: of the bytes of its content and nothing else.
pub(crate) fn version_of(content: &[u8]) -> String {
    format!("sha256:{}", hex(&Sha256::digest(content)))
}

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
