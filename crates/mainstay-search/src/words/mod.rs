//! Words: how text and code are cut into what an index stores.
//!
//! There are two ways to cut, because their users promise different things:
//! - [`subwords`] is the splitting that the embedding model was trained with. It is ASCII alone, and a change to it makes
//!   every vector of every index wrong.
//! - [`Terms`] gives the terms of the lexical index: lower-case, stemmed, in any script, with whole identifiers beside
//!   their parts.

mod script;
mod split;
mod stem;
mod stop;
mod terms;

pub use split::{Subwords, subwords};
pub use stem::stem;
pub use stop::is_stop_word;
pub use terms::{Terms, terms};

/// Words longer than this are dropped: they are encoded data and digests, which nobody looks for by a part of them.
pub const MAX_WORD_BYTES: usize = 64;
