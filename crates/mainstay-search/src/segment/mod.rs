//! An immutable part of an index: documents, their chunks, words, definitions and vectors, in one run of bytes.
//!
//! A segment is written once ([`SegmentBuilder`], [`merge`]) and read where it lies, as a memory-mapped file does
//! ([`Segment`]). Every offset in it is checked when it is used, and every section has a checksum: a damaged file gives an
//! error or misses, never a panic, and [`Segment::verify`] tells the two apart.

mod builder;
mod format;
mod merge;
mod postings;
mod reader;
mod records;
#[cfg(test)]
mod tests;

pub use builder::{NewChunk, NewDefinition, NewDocument, SegmentBuilder};
pub use format::{SegmentError, Versions};
pub use merge::{Source, merge};
pub use postings::{Posting, Postings};
pub use reader::{Bytes, Segment};
pub use records::{ChunkRecord, DefinitionRecord, DocumentRecord};
