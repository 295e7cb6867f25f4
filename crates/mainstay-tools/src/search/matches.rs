//! What a search gives back: the contract's `vector/search` result.

use std::fmt::Write as _;

use mainstay_core::{WithText, hex};
use mainstay_search::ranking::Hit;

/// The longest snippet.
const MAX_SNIPPET_BYTES: usize = 4096;

/// The result of a search.
#[derive(Debug, serde::Serialize, schemars::JsonSchema)]
pub(crate) struct Matches {
    /// Best first.
    pub(super) matches: Vec<Match>,
    pub(super) usage: Usage,
}

#[derive(Debug, serde::Serialize, schemars::JsonSchema)]
#[schemars(inline)]
pub(super) struct Match {
    pub(super) id: String,
    /// From 0 to 1, comparable within one answer.
    pub(super) score: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) vector: Option<Vec<f32>>,
    pub(super) metadata: Metadata,
}

#[derive(Debug, serde::Serialize, schemars::JsonSchema)]
#[schemars(inline)]
pub(super) struct Metadata {
    pub(super) path: String,
    pub(super) line_start: Option<u32>,
    pub(super) line_end: Option<u32>,
    pub(super) lang: Option<String>,
    /// The newest commit, if the file is unchanged in it.
    pub(super) commit: Option<String>,
    pub(super) shard_id: Option<String>,
    pub(super) etag: Option<String>,
    pub(super) tags: Vec<String>,
    pub(super) snippet: Option<String>,
    /// The name of what was found; the contract has no place for it, so it is for the text alone.
    #[serde(skip)]
    pub(super) name: String,
}

#[derive(Debug, Default, serde::Serialize, schemars::JsonSchema)]
#[schemars(inline)]
pub(super) struct Usage {
    pub(super) embedding_model: Option<String>,
    pub(super) embed_time_ms: Option<u64>,
    pub(super) rerank_model: Option<String>,
}

impl Match {
    /// A match without what has to be read elsewhere: snippet, commit and vector.
    pub(super) fn of(hit: Hit, path: String, shard: Option<String>) -> Self {
        let tags = [hit.language, hit.kind.name()].into_iter().chain(hit.tags.names());
        Self {
            id: format!("{path}:{}-{}", hit.first_line, hit.last_line),
            // Six digits are more than a score has; f32 printed as f64 would have seventeen.
            score: (f64::from(hit.score) * 1e6).round() / 1e6,
            vector: None,
            metadata: Metadata {
                line_start: Some(hit.first_line),
                line_end: Some(hit.last_line),
                lang: Some(hit.language).filter(|language| !language.is_empty()).map(str::to_owned),
                commit: None,
                shard_id: shard,
                etag: Some(hex(&hit.etag)),
                tags: tags.filter(|tag| !tag.is_empty()).map(str::to_owned).collect(),
                snippet: None,
                name: hit.name,
                path,
            },
        }
    }
}

impl Matches {
    /// With the text that a model reads: path, lines and name of each match, then its snippet.
    pub(super) fn with_text(self) -> WithText<Self> {
        let mut text = String::new();
        for (at, one) in (1..).zip(&self.matches) {
            let Metadata { path, line_start, line_end, name, snippet, .. } = &one.metadata;
            let _ = write!(text, "{at}. {path}");
            if let (Some(start), Some(end)) = (line_start, line_end) {
                let _ = write!(text, ":{start}-{end}");
            }
            if !name.is_empty() {
                let _ = write!(text, " {name}");
            }
            let _ = writeln!(text, " ({:.2})", one.score);
            if let Some(snippet) = snippet {
                let _ = writeln!(text, "{snippet}\n");
            }
        }
        if self.matches.is_empty() {
            text.push_str("No matches.\n");
        }
        WithText { value: self, text }
    }
}

/// The first lines of a part of a text, at most so many. `None` if the text does not have that part.
pub(super) fn snippet(content: &[u8], start: u32, end: u32, lines: usize) -> Option<String> {
    let part = content.get(usize::try_from(start).ok()?..usize::try_from(end).ok()?)?;
    let part = String::from_utf8_lossy(part);
    let total = part.lines().count();
    let mut shown: String = part.lines().take(lines).collect::<Vec<_>>().join("\n");
    // A line of a data file may be as long as the whole.
    if shown.len() > MAX_SNIPPET_BYTES {
        shown.truncate(shown.floor_char_boundary(MAX_SNIPPET_BYTES));
        shown.push('…');
    } else if total > lines {
        let _ = write!(shown, "\n… {} more lines", total - lines);
    }
    Some(shown)
}
