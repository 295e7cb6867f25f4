//! Search by meaning over code and text.
//!
//! Everything here works on names and bytes that are handed to it; it opens no files of users. A document is cut into
//! chunks ([`chunk`]), each of which is found by its words ([`words`]) and by its meaning ([`embedding`], [`vectors`]).
//! What an index keeps of a document ([`document`]) is in segments ([`segment`]), of which an index consists ([`index`]).
//! A search finds chunks and puts them in order ([`ranking`]).

pub mod chunk;
pub mod document;
pub mod embedding;
pub mod index;
pub mod ranking;
pub mod segment;
pub mod vectors;
pub mod words;
