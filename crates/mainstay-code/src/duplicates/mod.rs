//! Code that occurs more than once, found by its tokens.
//!
//! Files are read one by one into sequences of token hashes ([`Duplicates::add`]); comments and white space are no tokens, so
//! that formatting does not matter. [`Duplicates::find`] then looks for windows of tokens that occur twice and extends them
//! as far as all their places agree. The work is about linear in the number of tokens.

mod groups;
mod tokens;

use serde::{Deserialize, Serialize};

use crate::languages::Language;
use crate::parse::NotMeasured;

use tokens::TokenList;

/// How much has to be the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DuplicatesOptions {
    pub min_tokens: usize,
    pub min_lines: u32,
    /// Whether code that differs in names and literals alone counts as the same.
    pub ignore_names: bool,
}

impl Default for DuplicatesOptions {
    fn default() -> Self {
        Self { min_tokens: 100, min_lines: 6, ignore_names: false }
    }
}

/// Fewer tokens would match by accident everywhere.
const LEAST_TOKENS: usize = 10;

/// One occurrence of duplicated code. Lines count from 1 and both belong to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Place {
    /// The number that [`Duplicates::add`] gave the file.
    pub file: usize,
    pub start_line: u32,
    pub end_line: u32,
}

/// Code that occurs in several places.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CloneGroup {
    pub tokens: usize,
    /// The lines of the longest occurrence.
    pub lines: u32,
    /// In the order of files and lines.
    pub places: Vec<Place>,
}

/// Collects files and finds the code they share.
pub struct Duplicates {
    options: DuplicatesOptions,
    tokens: TokenList,
}

impl Duplicates {
    pub fn new(mut options: DuplicatesOptions) -> Self {
        options.min_tokens = options.min_tokens.max(LEAST_TOKENS);
        Self { options, tokens: TokenList::default() }
    }

    /// Adds a file and returns its number: 0 for the first, and so on. A file that cannot be parsed gets none.
    pub fn add(&mut self, language: Language, source: &[u8], wanted: &dyn Fn() -> bool) -> Result<usize, NotMeasured> {
        self.tokens.add(language, source, self.options.ignore_names, wanted)
    }

    /// How many tokens were read so far.
    pub fn tokens(&self) -> usize {
        self.tokens.len()
    }

    /// The groups of duplicated code, the largest first. Groups and places come in the same order every time.
    pub fn find(&self, wanted: &dyn Fn() -> bool) -> Result<Vec<CloneGroup>, NotMeasured> {
        groups::find(&self.tokens, self.options, wanted)
    }
}
