//! From a document of an agent to what is stored of it, and back.

use mainstay_core::{Error, Result};
use mainstay_search::chunk::NotChunked;
use mainstay_search::document::{NotPrepared, Prepared, language, prepare_with_words, tag_hash, versions};
use mainstay_search::embedding::Embedder;
use mainstay_search::segment::Versions;
use mainstay_store::{NewSearchDocument, SearchChunk, StoredSearchDocument};

use super::super::query::search_failure;

/// Frequency with which a tag is stored: it is looked for, and counts for nothing.
const TAG_IMPACT: u8 = 1;

/// A document as an agent gives it.
#[derive(Debug, Clone)]
pub(in crate::search) struct NewDocument {
    pub(in crate::search) id: String,
    pub(in crate::search) path: String,
    pub(in crate::search) text: String,
    pub(in crate::search) tags: Vec<String>,
}

/// Cuts and embeds a document. Its id takes the place of a path in indexes.
pub(in crate::search) fn prepare(document: NewDocument, embedder: &dyn Embedder) -> Result<NewSearchDocument> {
    let NewDocument { id, path, text, tags } = document;
    let (prepared, words) = analyzed(&id, &path, &text, &tags, embedder)?;
    let vector = |at: usize| {
        let chunk = prepared.chunks.get(at);
        chunk.map_or_else(Vec::new, |chunk| chunk.vector.iter().map(|code| f32::from(*code) * chunk.scale).collect())
    };
    let chunks = words.into_iter().enumerate().map(|(at, words)| SearchChunk { words, vector: vector(at) }).collect();
    let etag = mainstay_sandbox::etag_of(text.as_bytes());
    let versions = version_bytes(&versions(embedder));
    Ok(NewSearchDocument { id, path, tags, etag, prepared: prepared.to_bytes(), versions, chunks, text })
}

/// What an index needs of a stored document. One that was stored with another model or analysis is analysed again.
pub(super) fn restored(document: &StoredSearchDocument, embedder: &dyn Embedder) -> Result<Prepared> {
    if document.versions == version_bytes(&versions(embedder))
        && let Ok(prepared) = Prepared::from_bytes(&document.prepared)
    {
        return Ok(prepared);
    }
    let StoredSearchDocument { id, path, text, tags, .. } = document;
    analyzed(id, path, text, tags, embedder).map(|(prepared, _)| prepared)
}

fn analyzed(
    id: &str,
    path: &str,
    text: &str,
    tags: &[String],
    embedder: &dyn Embedder,
) -> Result<(Prepared, Vec<Vec<String>>)> {
    let hash = blake3::hash(text.as_bytes());
    let etag = hash.as_bytes().first_chunk::<16>().copied().unwrap_or_default();
    let prepared = prepare_with_words(path, text.as_bytes(), text.len() as u64, 0, etag, embedder, &|| true);
    let (mut prepared, words) = prepared.map_err(|error| match error {
        NotPrepared::NotChunked(NotChunked::Binary | NotChunked::Cancelled) => {
            Error::field("text", format!("The text of {id:?} is not text."))
        }
        NotPrepared::Vector(error) => Error::internal(error),
        NotPrepared::Embedding(error) => search_failure(error.into()),
    })?;
    id.clone_into(&mut prepared.path);
    let language = Some(language(prepared.language)).filter(|language| !language.is_empty());
    let mut tags: Vec<u64> = tags.iter().map(String::as_str).chain(language).map(tag_hash).collect();
    tags.sort_unstable();
    tags.dedup();
    prepared.terms.extend(tags.into_iter().map(|tag| (tag, TAG_IMPACT)));
    Ok((prepared, words))
}

fn version_bytes(versions: &Versions) -> Vec<u8> {
    let Versions { model, recipe, dimensions } = versions;
    [&model[..], &recipe.to_le_bytes(), &dimensions.to_le_bytes()].concat()
}
