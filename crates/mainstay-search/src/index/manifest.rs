//! Which segments count, and which of their documents are gone.

use serde::{Deserialize, Serialize};

/// The content of the manifest file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Manifest {
    /// Grows with each change.
    pub(super) generation: u64,
    /// The whole workspace has been indexed at least once.
    pub(super) complete: bool,
    /// Where the documents come from has changes with numbers: up to which one they are here.
    #[serde(default)]
    pub(super) position: i64,
    pub(super) segments: Vec<Entry>,
}

/// One segment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) file: String,
    /// The length of the file, which shows a truncated one without reading it.
    pub(super) bytes: u64,
    /// Documents that are gone or are in a later segment.
    pub(super) deleted: Vec<u32>,
}

impl Manifest {
    /// With a checksum in the first line.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let body = serde_json::to_string(self).unwrap_or_default();
        format!("{}\n{body}\n", blake3::hash(body.as_bytes()).to_hex()).into_bytes()
    }

    /// `None` if it is damaged.
    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes).ok()?;
        let (checksum, body) = text.strip_suffix('\n')?.split_once('\n')?;
        if blake3::hash(body.as_bytes()).to_hex().as_str() != checksum {
            return None;
        }
        serde_json::from_str(body).ok()
    }
}
