//! The chunks of one document: their terms, tokens and vectors.

use std::borrow::Cow;

use super::fields::{BODY, Counts, DOC, ENCLOSING, KNOWN_AS, Lengths, NAME, PATH};
use super::hashing::term_hash;
use super::{NotPrepared, path};
use crate::chunk::Chunk;
use crate::embedding::{EmbedError, Embedder, Parts};
use crate::segment::NewChunk;
use crate::vectors::quantize;
use crate::words::Terms;

/// The texts of a chunk.
#[derive(Default)]
pub(super) struct Text<'a> {
    /// Without the names around it.
    pub(super) name: &'a str,
    pub(super) enclosing: &'a str,
    /// The text of its doc comment, without the signs of comments.
    pub(super) doc: String,
    /// What is before the doc comment and what is after it.
    pub(super) body: [Cow<'a, str>; 2],
}

impl<'a> Text<'a> {
    pub(super) fn of(chunk: &'a Chunk, source: &'a [u8]) -> Self {
        Self {
            name: chunk.simple_name(),
            enclosing: chunk.enclosing(),
            doc: chunk.doc_text(source),
            body: chunk.without_doc(source),
        }
    }
}

/// Writes the chunks of one document, and counts the words of all.
pub(super) struct Writer<'a> {
    embedder: &'a dyn Embedder,
    path: &'a str,
    terms: Terms,
    /// Counted once; the same for every chunk.
    in_path: Counts,
    /// Of the path, the file's name and all chunks so far.
    document: Counts,
    chunk_lengths: Lengths,
}

impl<'a> Writer<'a> {
    /// Counts the words of the path, which are those of every chunk too.
    pub(super) fn new(path: &'a str, embedder: &'a dyn Embedder) -> Self {
        let mut terms = Terms::default();
        let (mut in_path, mut document) = (Counts::default(), Counts::default());
        in_path.add(&mut terms, PATH, path::without_extension(path));
        document.add_fields(&in_path, &[PATH]);
        document.add(&mut terms, KNOWN_AS, path::known_as(path));
        Self { embedder, path, terms, in_path, document, chunk_lengths: Lengths::default() }
    }

    /// The terms and tokens of a chunk. Its vector comes later, with those of all chunks.
    pub(super) fn write(&mut self, text: &Text<'_>) -> NewChunk {
        let Text { name, enclosing, doc, body: [before, after] } = text;
        let mut counts = Counts::default();
        counts.add_fields(&self.in_path, &[PATH]);
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
        let tokens = self.embedder.token_model().map_or_else(Vec::new, |model| {
            let distinct = model.distinct_tokens(&[name, enclosing, doc, before, after]);
            // Stored in two bytes each; a larger id is left out rather than cut to that of another token.
            distinct.into_iter().filter_map(|token| u16::try_from(token).ok()).collect()
        });
        NewChunk {
            name: String::new(),
            kind: 0,
            start_line: 0,
            end_line: 0,
            start_byte: 0,
            end_byte: 0,
            terms: counts.chunk_impacts(),
            tokens,
            vector: Vec::new(),
            scale: 0.0,
        }
    }

    /// Gives all chunks their vectors. The embedder is asked once for the whole document: behind a service, the time of
    /// a request is that of its way there and back, whatever it carries.
    pub(super) fn embed(&self, texts: &[Text<'_>], chunks: &mut [NewChunk]) -> Result<(), NotPrepared> {
        // A service would be asked for nothing, and some reject an empty list.
        if texts.is_empty() {
            return Ok(());
        }
        let file_stem = path::file_stem(self.path);
        let parts = texts.iter().map(|Text { name, enclosing, doc, body: [before, after] }| {
            // The name counts twice, as in the training of the model.
            [file_stem, enclosing, name, name, doc.as_str(), before.as_ref(), after.as_ref()]
        });
        let parts: Vec<[&str; 7]> = parts.collect();
        let parts: Vec<Parts<'_>> = parts.iter().map(<[&str; 7]>::as_slice).collect();
        let mut vectors = Vec::new();
        self.embedder.embed_batch(&parts, &mut vectors)?;
        let dimensions = self.embedder.dimensions();
        // Rows are found by their length, so that one number too few would shift all vectors after it.
        if dimensions == 0 || vectors.len() != texts.len() * dimensions {
            let (found, texts) = (vectors.len(), texts.len());
            let reason = format!("{found} numbers for {texts} texts, expected {dimensions} for each");
            return Err(EmbedError::Malformed { reason }.into());
        }
        for (chunk, vector) in chunks.iter_mut().zip(vectors.chunks_exact(dimensions)) {
            chunk.scale = quantize(vector, &mut chunk.vector)?;
        }
        Ok(())
    }

    /// The texts of a chunk's distinct terms, in the order in which [`Self::write`] gives their hashes.
    pub(super) fn words(&mut self, text: &Text<'_>) -> Vec<String> {
        let Text { name, enclosing, doc, body: [before, after] } = text;
        let mut words: Vec<(u64, String)> = Vec::new();
        for text in [path::without_extension(self.path), name, enclosing, doc, before, after] {
            self.terms.for_each(text, |term| words.push((term_hash(term), term.to_owned())));
        }
        words.sort_unstable();
        // Two terms with one hash are one term to the index.
        words.dedup_by_key(|(hash, _)| *hash);
        words.into_iter().map(|(_, word)| word).collect()
    }

    /// The terms of the whole document, once all chunks are written.
    pub(super) fn document_terms(&mut self) -> Vec<(u64, u8)> {
        self.document.sort();
        self.document.document_impacts()
    }

    /// The lengths of the fields of the document, and of its chunks together.
    pub(super) fn lengths(&self) -> (Lengths, Lengths) {
        (self.document.lengths, self.chunk_lengths)
    }
}
