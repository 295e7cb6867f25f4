//! From the bytes of a document to what a segment stores of it.
//!
//! Everything that depends on the document alone is computed here, once, and stored: weighted frequencies of words,
//! vectors, tokens, flags of the path. Documents can then be prepared in any order and by several threads, and a search
//! reads no source.

mod fields;
mod hashing;
mod impact;
mod kinds;
pub mod path;
mod stored;
#[cfg(test)]
mod tests;
mod writer;

use crate::chunk::{self, Chunks, Definition, NotChunked};
use crate::embedding::{EmbedError, Embedder};
use crate::segment::{NewChunk, NewDefinition, NewDocument, SegmentBuilder, SegmentError, Versions};
use crate::vectors::VectorError;

pub use fields::Lengths;
pub use hashing::{flat_name, name_hash, tag_hash, term_hash};
pub use impact::frequencies;
pub use kinds::{chunk_kind, chunk_kind_number, language, language_number, symbol_kind, symbol_kind_number};
pub use path::PathFlags;
pub use stored::StoredError;
use writer::{Text, Writer};

/// Changes whenever a document would give other chunks, terms, impacts, tokens or flags. Segments of another recipe
/// are made anew.
pub const RECIPE: u32 = 1;

/// The versions of segments that are made with an embedder.
pub fn versions(embedder: &dyn Embedder) -> Versions {
    let hash = blake3::hash(embedder.id().as_bytes());
    Versions {
        model: hash.as_bytes().first_chunk::<16>().copied().unwrap_or_default(),
        recipe: RECIPE,
        dimensions: u32::try_from(embedder.dimensions()).unwrap_or(u32::MAX),
    }
}

/// Why a document is not indexed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotPrepared {
    #[error(transparent)]
    NotChunked(#[from] NotChunked),
    /// The service of the model failed.
    #[error(transparent)]
    Embedding(#[from] EmbedError),
    /// The embedder gives vectors that are none.
    #[error(transparent)]
    Vector(#[from] VectorError),
}

/// A document, ready for a segment.
#[derive(Debug, Clone, PartialEq)]
pub struct Prepared {
    pub path: String,
    pub size: u64,
    pub lines: u32,
    pub modified_ns: i64,
    pub etag: [u8; 16],
    /// Tags and [`PathFlags`].
    pub tags: u32,
    pub language: u8,
    pub terms: Vec<(u64, u8)>,
    pub chunks: Vec<NewChunk>,
    pub definitions: Vec<NewDefinition>,
    /// The lengths of the fields of the document, and of all its chunks together; for measuring averages.
    pub lengths: (Lengths, Lengths),
}

impl Prepared {
    pub fn add_to(&self, builder: &mut SegmentBuilder) -> Result<(), SegmentError> {
        builder.add(&NewDocument {
            path: &self.path,
            size: self.size,
            lines: self.lines,
            modified_ns: self.modified_ns,
            etag: self.etag,
            tags: self.tags,
            language: self.language,
            terms: &self.terms,
            chunks: &self.chunks,
            definitions: &self.definitions,
        })
    }
}

/// Cuts a document into chunks and computes everything that search needs of them. `wanted` is asked now and then
/// whether the result is still of use. The embedder is asked once, for all chunks.
pub fn prepare(
    path: &str,
    source: &[u8],
    size: u64,
    modified_ns: i64,
    etag: [u8; 16],
    embedder: &dyn Embedder,
    wanted: &dyn Fn() -> bool,
) -> Result<Prepared, NotPrepared> {
    let file = File { path, source, size, modified_ns, etag };
    prepare_file(&file, embedder, wanted, &mut |_, _| {})
}

/// The same, and of each chunk the texts of its distinct terms, for the text search of a database. They are those whose
/// hashes the chunk has, in the same order; [`query_words`](crate::ranking::query_words) gives those of a query.
///
/// Apart from [`prepare`], because an index in files keeps hashes alone, and collecting texts takes time and memory.
pub fn prepare_with_words(
    path: &str,
    source: &[u8],
    size: u64,
    modified_ns: i64,
    etag: [u8; 16],
    embedder: &dyn Embedder,
    wanted: &dyn Fn() -> bool,
) -> Result<(Prepared, Vec<Vec<String>>), NotPrepared> {
    let file = File { path, source, size, modified_ns, etag };
    let mut words = Vec::new();
    let prepared = prepare_file(&file, embedder, wanted, &mut |writer, text| words.push(writer.words(text)))?;
    Ok((prepared, words))
}

/// A document as it was read.
struct File<'a> {
    path: &'a str,
    source: &'a [u8],
    size: u64,
    modified_ns: i64,
    etag: [u8; 16],
}

/// Calls `each` with every chunk's text, in order.
fn prepare_file(
    &File { path, source, size, modified_ns, etag }: &File<'_>,
    embedder: &dyn Embedder,
    wanted: &dyn Fn() -> bool,
    each: &mut dyn FnMut(&mut Writer<'_>, &Text<'_>),
) -> Result<Prepared, NotPrepared> {
    let Chunks { language, tags, chunks, definitions, .. } = chunk::chunks(path, source, wanted)?;
    let mut writer = Writer::new(path, embedder);
    let mut written = Vec::with_capacity(chunks.len());
    let texts: Vec<Text<'_>> = chunks.iter().map(|chunk| Text::of(chunk, source)).collect();
    for (chunk, text) in chunks.iter().zip(&texts) {
        if !wanted() {
            return Err(NotChunked::Cancelled.into());
        }
        written.push(NewChunk {
            name: chunk.name.as_ref().to_owned(),
            kind: chunk_kind_number(chunk.kind),
            start_line: chunk.first_line,
            end_line: chunk.last_line,
            start_byte: chunk.bytes.start,
            end_byte: chunk.bytes.end,
            ..writer.write(text)
        });
        each(&mut writer, text);
    }
    writer.embed(&texts, &mut written)?;
    // Newlines; ranking takes the logarithm of it.
    let lines = source.split(|byte| *byte == b'\n').count() - 1;
    Ok(Prepared {
        path: path.to_owned(),
        size,
        lines: u32::try_from(lines).unwrap_or(u32::MAX),
        modified_ns,
        etag,
        tags: PathFlags::of(path, tags, language).with_tags(tags),
        language: language_number(language),
        terms: writer.document_terms(),
        chunks: written,
        definitions: definitions.iter().map(definition).collect(),
        lengths: writer.lengths(),
    })
}

/// A document of one definition whose name and code are known, such as an entry of a list of functions.
pub fn prepare_definition(
    path: &str,
    name: &str,
    code: &str,
    embedder: &dyn Embedder,
) -> Result<Prepared, NotPrepared> {
    let mut writer = Writer::new(path, embedder);
    let fields = Text { name, body: [code.into(), "".into()], ..Text::default() };
    let lines = u32::try_from(code.lines().count()).unwrap_or(u32::MAX);
    let end_byte = u32::try_from(code.len()).unwrap_or(u32::MAX);
    let chunk = NewChunk { name: name.to_owned(), start_line: 1, end_line: lines, end_byte, ..writer.write(&fields) };
    let mut chunks = vec![chunk];
    writer.embed(&[fields], &mut chunks)?;
    Ok(Prepared {
        path: path.to_owned(),
        size: u64::from(end_byte),
        lines,
        modified_ns: 0,
        etag: [0; 16],
        tags: 0,
        language: 0,
        terms: writer.document_terms(),
        chunks,
        definitions: Vec::new(),
        lengths: writer.lengths(),
    })
}

fn definition(of: &Definition) -> NewDefinition {
    NewDefinition {
        name_hash: name_hash(&flat_name(of.simple_name())),
        name: of.name.as_ref().to_owned(),
        qualifier: of.qualifier,
        chunk: of.chunk,
        start_line: of.first_line,
        end_line: of.last_line,
        kind: symbol_kind_number(of.kind),
    }
}
