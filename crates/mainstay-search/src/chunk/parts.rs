//! The texts of a chunk.

use std::borrow::Cow;
use std::ops::Range;

use super::{Chunk, ChunkKind, Chunks, Definition, Reference};

fn text<'s>(source: &'s [u8], range: &Range<u32>) -> Cow<'s, str> {
    String::from_utf8_lossy(source.get(range.start as usize..range.end as usize).unwrap_or_default())
}

impl Chunk {
    /// The name without those around it: `push` of `Stack::push`, the last heading of a section.
    pub fn simple_name(&self) -> &str {
        self.name.get(usize::from(self.qualifier)..).unwrap_or(&self.name)
    }

    /// The name of what is around it: `Stack` of `Stack::push`. Empty at the level of a file.
    pub fn enclosing(&self) -> &str {
        let around = self.name.get(..usize::from(self.qualifier)).unwrap_or_default();
        around.trim_end_matches([' ', '>', ':', '.', '#'])
    }

    /// All of it, as it is written.
    pub fn text<'s>(&self, source: &'s [u8]) -> Cow<'s, str> {
        text(source, &self.bytes)
    }

    /// What comes before the body: the name, parameters and result, or the heading of a section.
    pub fn signature_text<'s>(&self, source: &'s [u8]) -> Cow<'s, str> {
        text(source, &self.signature)
    }

    /// The chunk from the end of its signature on.
    pub fn body_text<'s>(&self, source: &'s [u8]) -> Cow<'s, str> {
        text(source, &self.body)
    }

    /// All of it but the doc comment, in two pieces: the docstring of Python is between the signature and the code.
    pub fn without_doc<'s>(&self, source: &'s [u8]) -> [Cow<'s, str>; 2] {
        if self.doc.is_empty() {
            return [self.text(source), Cow::Borrowed("")];
        }
        [text(source, &(self.bytes.start..self.doc.start)), text(source, &(self.doc.end..self.bytes.end))]
    }

    /// What the doc comment says, without the marks of a comment. Lines between comments that are none, such as attributes, are
    /// left out.
    pub fn doc_text(&self, source: &[u8]) -> String {
        let doc = text(source, &self.doc);
        let mut said = String::with_capacity(doc.len());
        let unprefixed = doc.trim_start_matches(['r', 'R', 'u', 'U', 'b', 'f']);
        let is_string = unprefixed.starts_with(['"', '\'']);
        let mut in_block = false;
        for line in if is_string { unprefixed } else { &doc }.lines() {
            let line = line.trim();
            let text =
                if is_string { Some(line.trim_matches(['"', '\'']).trim()) } else { comment(line, &mut in_block) };
            if let Some(text) = text {
                said.push_str(text);
                said.push('\n');
            }
        }
        let length = said.trim_end().len();
        said.truncate(length);
        let blank = said.len() - said.trim_start().len();
        said.drain(..blank);
        said
    }

    /// Whether it is (a part of) something that callers look up by name; a block may contain several names or none.
    pub fn is_definition(&self) -> bool {
        matches!(self.kind, ChunkKind::Function | ChunkKind::Method | ChunkKind::Type)
    }
}

/// A line of a comment without its marks. Part of a doc comment may begin inside of a block, whose lines begin with `*`.
fn comment<'l>(line: &'l str, in_block: &mut bool) -> Option<&'l str> {
    for mark in ["///", "//!", "//"] {
        if let Some(text) = line.strip_prefix(mark).filter(|_| !*in_block) {
            return Some(text.trim_start_matches('/').trim());
        }
    }
    if let Some(text) = line.strip_prefix("/*").filter(|_| !*in_block) {
        let text = text.trim_start_matches(['*', '!']);
        *in_block = !text.contains("*/");
        return Some(text.trim_end_matches('/').trim_end_matches('*').trim());
    }
    if let Some(end) = line.find("*/") {
        *in_block = false;
        return Some(line[..end].trim_matches('*').trim());
    }
    if *in_block || line.starts_with("* ") || line == "*" {
        return Some(line.trim_start_matches('*').trim());
    }
    // `#[…]` is an attribute of Rust, `#` a comment of Python, Ruby and Bash.
    line.strip_prefix('#').filter(|text| !text.starts_with(['[', '!'])).map(|text| text.trim_start_matches('#').trim())
}

impl Definition {
    pub fn simple_name(&self) -> &str {
        self.name.get(usize::from(self.qualifier)..).unwrap_or(&self.name)
    }
}

impl Reference {
    /// The bytes of the name; empty if the source is not the one that was cut.
    pub fn name<'s>(&self, source: &'s [u8]) -> &'s [u8] {
        let start = self.start as usize;
        source.get(start..start + usize::from(self.length)).unwrap_or_default()
    }
}

impl Chunks {
    /// The definitions that begin in a chunk.
    pub fn definitions_of(&self, chunk: u32) -> &[Definition] {
        let start = self.definitions.partition_point(|definition| definition.chunk < chunk);
        let end = self.definitions.partition_point(|definition| definition.chunk <= chunk);
        self.definitions.get(start..end).unwrap_or_default()
    }
}
