//! What a search index needs to know of a file, from one reading: its items with their comments and signatures, where long ones
//! may be cut, and which names it uses.
//!
//! [`symbols`](crate::symbols()) lists definitions for people. An outline also has what lies between them (imports, statements,
//! `impl` blocks), definitions that only search asks for (prototypes of C, constants of modules, functions assigned to a name),
//! and never fails because of a syntax error.

mod rust;
mod rust_items;
mod rust_tokens;
mod tables;
#[cfg(test)]
mod tests;
mod tree;
mod tree_items;

use std::ops::Range;

use crate::definition::{Definition, SymbolKind};
use crate::languages::Language;
use crate::naming;
use crate::parse::{NotMeasured, line};

/// A file with more is data, not code.
const MOST_ITEMS: usize = 50_000;
const MOST_REFERENCES: usize = 100_000;

/// One character says nothing about what is meant.
const SHORTEST_REFERENCE: usize = 2;
const LONGEST_REFERENCE: usize = 200;

/// A cut between a comment and what it is about is the worst there is.
/// More than any real nesting, and small enough that the sum of both stays below [`NO_CUT`].
const AFTER_COMMENT: u16 = 10_000;

/// A line before which nothing may be cut: it is inside of a string, or only closes something.
pub const NO_CUT: u16 = u16::MAX;

/// The outline of one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    /// In the order they begin; an item's children follow it.
    pub items: Vec<Item>,
    /// The offset of each line.
    pub line_starts: Vec<u32>,
    /// For each line, how good it is to cut before it: the nesting of what begins there, or [`NO_CUT`].
    pub levels: Vec<u16>,
    /// Names used outside of comments and strings, in their order. Names that are only defined are not among them.
    pub references: Vec<Reference>,
}

impl Outline {
    /// An outline with lines alone, for a file that is not parsed.
    pub fn of_lines(source: &[u8]) -> Self {
        Self { line_starts: line_starts(source), ..Self::default() }
    }
}

/// What an item is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ItemKind {
    Definition(SymbolKind),
    /// Items that belong together and define no name: an `impl`, a group of constants, an `extern` block.
    Group,
    /// An import, an include, a re-export, or a module that is in another file.
    Import,
    Statement,
}

/// A definition, or something else at the level of definitions. Lines count from 0 here, bytes are half-open ranges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    pub kind: ItemKind,
    /// How many items are around it.
    pub depth: u16,
    /// Whether it is part of a function's body.
    pub in_function: bool,
    /// With the names of the types and functions around it. Empty for statements.
    pub name: String,
    /// How many bytes of the name are those of what is around it.
    pub qualifier: u16,
    /// Where its name is written; empty if it is not.
    pub name_range: Range<u32>,
    /// The first byte and line of its comments and attributes.
    pub lead: u32,
    pub lead_row: u32,
    /// The item itself, without comments and attributes before it.
    pub bytes: Range<u32>,
    pub first_row: u32,
    pub last_row: u32,
    /// Where its body begins; its end if it has none.
    pub body: u32,
    /// The comment before it, or the string with which its body begins.
    pub doc: Range<u32>,
}

impl Item {
    /// From the first line to the last, as other parts of this crate count them: from 1.
    pub fn lines(&self) -> (u32, u32) {
        (line(self.first_row as usize), line(self.last_row as usize))
    }

    pub fn is_function(&self) -> bool {
        matches!(self.kind, ItemKind::Definition(SymbolKind::Function | SymbolKind::Method))
    }
}

/// Where a name is used. The row counts from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference {
    pub start: u32,
    pub length: u16,
    pub row: u32,
}

impl Reference {
    pub fn bytes(&self) -> Range<usize> {
        self.start as usize..self.start as usize + usize::from(self.length)
    }
}

/// The outline of a file. A source that is not UTF-8, too large or too slow to parse gives an error; one with syntax errors gives
/// what could be read.
pub fn outline(language: Language, source: &[u8], wanted: &dyn Fn() -> bool) -> Result<Outline, NotMeasured> {
    if language == Language::Rust
        && let Some(outline) = rust::read(source, wanted)?
    {
        return Ok(finish(outline));
    }
    tree::read(dialect(language, source), source, wanted).map(finish)
}

/// Headers of C++ have the names of headers of C, and are not C.
fn dialect(language: Language, source: &[u8]) -> Language {
    // At the beginning of a line: C has variables named `class`, and its comments speak of templates.
    const WORDS: [&str; 5] = ["\nclass ", "\nnamespace ", "\ntemplate", "\npublic:", "\nprivate:"];
    let is_cpp = || WORDS.iter().any(|word| memchr::memmem::find(source, word.as_bytes()).is_some());
    if language == Language::C && is_cpp() { Language::Cpp } else { language }
}

/// Removes the places where names are defined from those where they are used.
fn finish(mut outline: Outline) -> Outline {
    let mut defined: Vec<u32> = outline
        .items
        .iter()
        .map(|item| item.name_range.clone())
        .filter(|name| !name.is_empty())
        .map(|name| name.start)
        .collect();
    defined.sort_unstable();
    // References are in the order of the source, so that one pass over both lists is enough.
    let mut defined = defined.into_iter().peekable();
    outline.references.retain(|reference| {
        while defined.next_if(|name| *name < reference.start).is_some() {}
        defined.peek() != Some(&reference.start)
    });
    outline
}

/// A qualified name, and how much of it is not its own.
fn qualify(definition: &Definition, scopes: &[String], simple: &str, is_method: bool) -> (String, u16) {
    let name = naming::qualified(definition, scopes, simple, is_method);
    let qualifier = u16::try_from(name.len().saturating_sub(simple.len())).unwrap_or(0);
    (name, qualifier)
}

fn offset(byte: usize) -> u32 {
    u32::try_from(byte).unwrap_or(u32::MAX)
}

fn line_starts(source: &[u8]) -> Vec<u32> {
    let mut starts = Vec::with_capacity(source.len() / 32 + 1);
    starts.push(0);
    starts.extend(memchr::memchr_iter(b'\n', source).map(|end| offset(end + 1)));
    // What follows the last newline is a line only if there is something.
    if starts.len() > 1 && starts.last() == Some(&offset(source.len())) {
        starts.pop();
    }
    starts
}

/// Comments and attributes that may belong to the next item.
/// They are kept until the item is met, because nothing in a comment tells whether an item follows.
#[derive(Clone, Debug, Default)]
struct Lead {
    start: u32,
    first_row: u32,
    last_row: u32,
    doc: Range<u32>,
    is_some: bool,
}

impl Lead {
    /// A comment or an attribute. It continues those before it unless a blank line is between them.
    fn add(&mut self, bytes: Range<u32>, rows: (u32, u32), is_comment: bool) {
        if !self.is_some || self.last_row + 1 < rows.0 {
            *self = Self { start: bytes.start, first_row: rows.0, last_row: rows.1, doc: 0..0, is_some: true };
        }
        self.last_row = rows.1;
        if is_comment {
            let start = if self.doc.is_empty() { bytes.start } else { self.doc.start };
            self.doc = start..bytes.end;
        }
    }

    /// What belongs to an item that begins at this row.
    fn take(&mut self, row: u32) -> Option<Self> {
        let lead = std::mem::take(self);
        (lead.is_some && lead.last_row + 1 >= row).then_some(lead)
    }
}
