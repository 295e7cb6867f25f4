//! The tokens of many files in one list.

use crate::definition::Role;
use crate::languages::Language;
use crate::parse::{self, NotMeasured, line};
use crate::token_hash::token_hash;

/// All files together. At 12 bytes for a token, and twice that while searching, this bounds the memory to about 300 MiB.
const MOST_TOKENS: usize = 8_000_000;
const MOST_DEPTH: u32 = 20_000;
const NODES_BETWEEN_QUESTIONS: u32 = 4096;

/// Stands for any name or literal where those do not matter.
const ANY_NAME: u64 = 1;

/// A token: the hash of its text, and its first and last line relative to the file.
#[derive(Clone, Copy)]
pub(super) struct Token {
    pub(super) hash: u32,
    pub(super) start_line: u32,
    pub(super) end_line: u32,
}

/// The tokens of all files, one file after the other.
#[derive(Default)]
pub(super) struct TokenList {
    pub(super) tokens: Vec<Token>,
    /// Where each file begins.
    pub(super) starts: Vec<usize>,
}

impl TokenList {
    pub(super) fn len(&self) -> usize {
        self.tokens.len()
    }

    /// The file that a token belongs to, and where the file ends.
    pub(super) fn file_of(&self, token: usize) -> (usize, usize) {
        let file = self.starts.partition_point(|start| *start <= token).saturating_sub(1);
        (file, self.starts.get(file + 1).copied().unwrap_or(self.tokens.len()))
    }

    pub(super) fn add(
        &mut self,
        language: Language,
        source: &[u8],
        ignore_names: bool,
        wanted: &dyn Fn() -> bool,
    ) -> Result<usize, NotMeasured> {
        let compiled = language.compiled();
        let tree = parse::parse(compiled, source, wanted)?;
        if let Some(line) = parse::first_error(&tree) {
            return Err(NotMeasured::Syntax { line });
        }
        let start = self.tokens.len();
        let mut cursor = tree.walk();
        let (mut depth, mut nodes) = (0_u32, 0_u32);
        let outcome = loop {
            nodes += 1;
            if nodes.is_multiple_of(NODES_BETWEEN_QUESTIONS) && !wanted() {
                break Err(NotMeasured::Cancelled);
            }
            let node = cursor.node();
            let role = compiled.rule(compiled.rule_index(node.kind_id())).entry.role;
            // A literal is one token, with what is interpolated into it.
            let is_whole = matches!(role, Role::Comment | Role::Text);
            if !is_whole && cursor.goto_first_child() {
                depth += 1;
                if depth > MOST_DEPTH {
                    break Err(NotMeasured::TooDeep);
                }
                continue;
            }
            let range = node.byte_range();
            if role != Role::Comment && !range.is_empty() {
                if self.tokens.len() >= MOST_TOKENS {
                    break Err(NotMeasured::TooLarge);
                }
                let is_name = node.is_named();
                let hash =
                    if ignore_names && is_name { ANY_NAME } else { token_hash(source.get(range).unwrap_or_default()) };
                self.tokens.push(Token {
                    hash: fold(hash),
                    start_line: line(node.start_position().row),
                    end_line: line(node.end_position().row),
                });
            }
            let mut done = false;
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    done = true;
                    break;
                }
                depth -= 1;
            }
            if done {
                break Ok(());
            }
        };
        if let Err(error) = outcome {
            self.tokens.truncate(start);
            return Err(error);
        }
        self.starts.push(start);
        Ok(self.starts.len() - 1)
    }
}

/// Both halves of a hash in one word.
#[expect(clippy::cast_possible_truncation, reason = "the upper half is mixed into the lower one first")]
fn fold(hash: u64) -> u32 {
    (hash ^ (hash >> 32)) as u32
}
