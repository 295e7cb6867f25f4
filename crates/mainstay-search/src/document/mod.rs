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
#[cfg(test)]
mod tests;

use crate::chunk::{self, Chunk, Chunks, Definition, NotChunked};
use crate::embedding::Embedder;
use crate::segment::{NewChunk, NewDefinition, NewDocument, SegmentBuilder, SegmentError, Versions};
use crate::vectors::{VectorError, quantize};
use crate::words::Terms;

pub use fields::Lengths;
use fields::{BODY, Counts, DOC, ENCLOSING, KNOWN_AS, NAME, PATH};
pub use hashing::{flat_name, name_hash, term_hash};
pub use impact::frequencies;
pub use kinds::{chunk_kind, chunk_kind_number, language, language_number, symbol_kind, symbol_kind_number};
pub use path::PathFlags;

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
/// whether the result is still of use.
pub fn prepare(
    path: &str,
    source: &[u8],
    size: u64,
    modified_ns: i64,
    etag: [u8; 16],
    embedder: &dyn Embedder,
    wanted: &dyn Fn() -> bool,
) -> Result<Prepared, NotPrepared> {
    let Chunks { language, tags, chunks, definitions, .. } = chunk::chunks(path, source, wanted)?;
    let mut writer = Writer::new(path, embedder);
    let mut written = Vec::with_capacity(chunks.len());
    for chunk in &chunks {
        if !wanted() {
            return Err(NotChunked::Cancelled.into());
        }
        let fields = Text::of(chunk, source);
        written.push(NewChunk {
            name: chunk.name.as_ref().to_owned(),
            kind: chunk_kind_number(chunk.kind),
            start_line: chunk.first_line,
            end_line: chunk.last_line,
            start_byte: chunk.bytes.start,
            end_byte: chunk.bytes.end,
            ..writer.write(&fields)?
        });
    }
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
        lengths: (writer.document.lengths, writer.chunk_lengths),
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
    let chunk = NewChunk { name: name.to_owned(), start_line: 1, end_line: lines, end_byte, ..writer.write(&fields)? };
    Ok(Prepared {
        path: path.to_owned(),
        size: u64::from(end_byte),
        lines,
        modified_ns: 0,
        etag: [0; 16],
        tags: 0,
        language: 0,
        terms: writer.document_terms(),
        chunks: vec![chunk],
        definitions: Vec::new(),
        lengths: (writer.document.lengths, writer.chunk_lengths),
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

/// The texts of a chunk.
#[derive(Default)]
struct Text<'a> {
    name: &'a str,
    enclosing: &'a str,
    doc: String,
    body: [std::borrow::Cow<'a, str>; 2],
}

impl<'a> Text<'a> {
    fn of(chunk: &'a Chunk, source: &'a [u8]) -> Self {
        Self {
            name: chunk.simple_name(),
            enclosing: chunk.enclosing(),
            doc: chunk.doc_text(source),
            body: chunk.without_doc(source),
        }
    }
}

/// Writes the chunks of one document, and counts the words of all.
struct Writer<'a> {
    embedder: &'a dyn Embedder,
    file_stem: &'a str,
    terms: Terms,
    /// Counted once; the same for every chunk.
    path: Counts,
    document: Counts,
    chunk_lengths: Lengths,
    vector: Vec<f32>,
}

impl<'a> Writer<'a> {
    fn new(path: &'a str, embedder: &'a dyn Embedder) -> Self {
        let mut terms = Terms::default();
        let (mut of_path, mut document) = (Counts::default(), Counts::default());
        of_path.add(&mut terms, PATH, path::without_extension(path));
        document.add_fields(&of_path, &[PATH]);
        document.add(&mut terms, KNOWN_AS, path::known_as(path));
        Self {
            embedder,
            file_stem: path::file_stem(path),
            terms,
            path: of_path,
            document,
            chunk_lengths: Lengths::default(),
            vector: Vec::new(),
        }
    }

    /// The terms, tokens and vector of a chunk.
    fn write(&mut self, text: &Text<'_>) -> Result<NewChunk, VectorError> {
        let Text { name, enclosing, doc, body: [before, after] } = text;
        let mut counts = Counts::default();
        counts.add_fields(&self.path, &[PATH]);
        for (field, text) in [
            (NAME, *name),
            (ENCLOSING, *enclosing),
            (DOC, doc.as_str()),
            (BODY, before.as_ref()),
            (BODY, after.as_ref()),
        ] {
            counts.add(&mut self.terms, field, text);
        }
        counts.sort();
        // Not the path, which would count once for each chunk, nor the enclosing names, whose place the file's name
        // has.
        self.document.add_fields(&counts, &[NAME, DOC, BODY]);
        for (sum, length) in self.chunk_lengths.iter_mut().zip(counts.lengths) {
            *sum += length;
        }
        // The name counts twice, as in the training of the model.
        self.embedder.embed_parts(&[self.file_stem, enclosing, name, name, doc, before, after], &mut self.vector);
        let mut vector = Vec::new();
        let scale = quantize(&self.vector, &mut vector)?;
        let tokens = self.embedder.token_model().map_or_else(Vec::new, |model| {
            let distinct = model.distinct_tokens(&[name, enclosing, doc, before, after]);
            // Stored in two bytes each; a larger id is left out rather than cut to that of another token.
            distinct.into_iter().filter_map(|token| u16::try_from(token).ok()).collect()
        });
        Ok(NewChunk {
            name: String::new(),
            kind: 0,
            start_line: 0,
            end_line: 0,
            start_byte: 0,
            end_byte: 0,
            terms: counts.chunk_impacts(),
            tokens,
            vector,
            scale,
        })
    }

    fn document_terms(&mut self) -> Vec<(u64, u8)> {
        self.document.sort();
        self.document.document_impacts()
    }
}
