//! Cutting a document into chunks, the units that search finds.
//!
//! Source code is cut along its definitions, text along its headings, and everything else into windows of lines. Chunks are
//! whole lines, in the order of the file, and do not overlap; every line that is not blank is in one of them. A chunk refers
//! to its source by ranges and copies only its name.
//!
//! A chunk is at most some 60 lines or 2,000 bytes: the embedding model reads 512 tokens, which are 1,500 to 2,000 bytes of
//! code, and a reader can judge that much at a glance. What is longer is split where its nesting is lowest.

mod block;
mod cut;
mod language;
mod lines;
mod parts;
mod sections;
mod split;
mod tags;
#[cfg(test)]
mod tests;

use std::ops::Range;

use mainstay_code::{Language, NotMeasured, Outline, SymbolKind};

#[cfg(test)]
pub(crate) use language::all_names as text_languages;
use lines::Lines;
pub use tags::Tags;

/// A larger file is data more often than code, and is cut into windows without parsing it.
pub const MAX_PARSED_BYTES: usize = 1024 * 1024;

/// What a chunk is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChunkKind {
    /// A function outside of a type.
    Function,
    /// A function of a type.
    Method,
    /// A type, or a named group of its methods such as `impl Stack`.
    Type,
    /// Imports, constants, short functions, code outside of definitions.
    Block,
    /// A part of a text under one heading.
    Section,
    /// Lines of a file that is neither code nor text with headings.
    Window,
}

impl ChunkKind {
    const NAMES: [(Self, &'static str); 6] = [
        (Self::Function, "function"),
        (Self::Method, "method"),
        (Self::Type, "type"),
        (Self::Block, "block"),
        (Self::Section, "section"),
        (Self::Window, "window"),
    ];

    /// In lower case, as results show it and filters name it.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(kind, _)| *kind == self).map_or("", |(_, name)| name)
    }

    /// The kind with a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(_, known)| *known == name).map(|(kind, _)| *kind)
    }
}

/// A part of a document. Ranges are offsets of bytes in the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    pub kind: ChunkKind,
    /// Which part of its definition it is, from 0: a long function has several.
    pub part: u16,
    /// The name with those around it (`Stack::push`), the path of headings (`Install > Linux`), or nothing.
    pub name: Box<str>,
    /// How many bytes of the name are those of what is around it, with the separator.
    pub qualifier: u16,
    /// Counted from 1, both part of it.
    pub first_line: u32,
    pub last_line: u32,
    /// Whole lines, without the last line break. Only a line that is too long for one chunk is cut inside.
    pub bytes: Range<u32>,
    /// The part of the doc comment or docstring that is in this chunk.
    pub doc: Range<u32>,
    /// Of all parts of a definition the same, so that of the second part and the following it is outside of the chunk.
    pub signature: Range<u32>,
    /// The chunk without the signature and what comes before it.
    pub body: Range<u32>,
}

/// A name that is defined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// With the names around it, as in [`Chunk::name`].
    pub name: Box<str>,
    pub qualifier: u16,
    pub kind: SymbolKind,
    /// Of the definition itself, without comments before it. Lines count from 1.
    pub first_line: u32,
    pub last_line: u32,
    pub bytes: Range<u32>,
    /// The chunk in which it begins.
    pub chunk: u32,
}

/// A name that is used. The line counts from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference {
    /// The name is not copied: a file may have thousands of references, and the source is at hand when they are read.
    pub start: u32,
    pub length: u16,
    pub line: u32,
}

/// A document, cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunks {
    /// `rust`, `markdown`, `toml`; nothing if the name of the file does not tell.
    pub language: &'static str,
    pub tags: Tags,
    pub chunks: Vec<Chunk>,
    /// In the order they begin.
    pub definitions: Vec<Definition>,
    /// In the order of the file.
    pub references: Vec<Reference>,
}

/// Why a document has no chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotChunked {
    #[error("The file is not text.")]
    Binary,
    #[error("Chunking was cancelled.")]
    Cancelled,
}

/// Whether a program has written a file: by its name, by a comment at its beginning, or because its lines are minified. A
/// directory called `gen` or `dist` does not tell, because people write code in such directories, too.
pub fn is_generated(path: &str, source: &[u8]) -> bool {
    let file = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    tags::is_generated_name(&file)
        || tags::is_marked_generated(source)
        || lines::is_minified(source, &Outline::of_lines(source).line_starts)
}

/// Cuts a document. `wanted` is asked now and then whether the result is still of use.
pub fn chunks(path: &str, source: &[u8], wanted: &dyn Fn() -> bool) -> Result<Chunks, NotChunked> {
    // Before invalid bytes are replaced, and before a parser spends time on data.
    if lines::is_binary(source) {
        return Err(NotChunked::Binary);
    }
    if !wanted() {
        return Err(NotChunked::Cancelled);
    }
    let text = lines::with_valid_utf8(source);
    let code = Language::from_name(path, &text);
    let mut tags = Tags::of_path(path);
    let language = code.map_or_else(|| language::name(path), Language::name);
    let outline = Outline::of_lines(&text);
    let is_minified = lines::is_minified(&text, &outline.line_starts);
    if is_minified || tags::is_marked_generated(&text) {
        tags.insert(Tags::GENERATED);
    }
    let is_parsed = !is_minified && text.len() <= MAX_PARSED_BYTES;
    if let Some(code) = code.filter(|_| is_parsed) {
        match mainstay_code::outline(code, &text, wanted) {
            Ok(outline) => return Ok(of_code(&text, &outline, language, tags)),
            Err(NotMeasured::Cancelled) => return Err(NotChunked::Cancelled),
            // What cannot be parsed is cut as text.
            Err(_) => {}
        }
    }
    let lines = Lines::new(&text, &outline.line_starts, is_minified);
    let chunks = match sections::Markup::of(language).filter(|_| is_parsed) {
        Some(markup) => sections::cut(lines, markup),
        None => cut::windows(lines),
    };
    Ok(Chunks { language, tags, chunks, definitions: Vec::new(), references: Vec::new() })
}

fn of_code(source: &[u8], outline: &Outline, language: &'static str, mut tags: Tags) -> Chunks {
    if tags::only_imports(outline, source) {
        tags.insert(Tags::RE_EXPORTS);
    }
    let chunks = cut::code(Lines::new(source, &outline.line_starts, false), outline);
    let definitions = definitions(outline, &chunks);
    let reference =
        |found: &mainstay_code::Reference| Reference { start: found.start, length: found.length, line: found.row + 1 };
    let references = outline.references.iter().map(reference).collect();
    Chunks { language, tags, chunks, definitions, references }
}

fn definitions(outline: &Outline, chunks: &[Chunk]) -> Vec<Definition> {
    let defined = outline.items.iter().filter_map(|item| match item.kind {
        mainstay_code::ItemKind::Definition(kind) => Some((item, kind)),
        mainstay_code::ItemKind::Group | mainstay_code::ItemKind::Import | mainstay_code::ItemKind::Statement => None,
    });
    let definition = |(item, kind): (&mainstay_code::Item, SymbolKind)| {
        let (first_line, last_line) = item.lines();
        // The last chunk that begins at or before the definition. Chunks are sorted and do not overlap.
        let chunk = chunks.partition_point(|chunk| chunk.first_line <= first_line).saturating_sub(1);
        Definition {
            name: item.name.as_str().into(),
            qualifier: item.qualifier,
            kind,
            first_line,
            last_line,
            bytes: item.bytes.clone(),
            chunk: u32::try_from(chunk).unwrap_or(u32::MAX),
        }
    };
    defined.map(definition).collect()
}
