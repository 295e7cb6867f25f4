//! Halstead's measures: how many operators and operands there are, and how many different ones.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use serde::{Deserialize, Serialize};

use crate::token_hash::token_hash;

use super::round;

/// Halstead's counts and what follows from them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Halstead {
    /// Distinct operators.
    pub n1: u32,
    /// Distinct operands.
    pub n2: u32,
    /// Operators.
    #[serde(rename = "N1")]
    pub total_n1: u32,
    /// Operands.
    #[serde(rename = "N2")]
    pub total_n2: u32,
    pub volume: f64,
    pub difficulty: f64,
    pub effort: f64,
}

impl Halstead {
    fn new(n1: u32, n2: u32, total_n1: u32, total_n2: u32) -> Self {
        let vocabulary = f64::from(n1) + f64::from(n2);
        let length = f64::from(total_n1) + f64::from(total_n2);
        let volume = if vocabulary > 0.0 { length * vocabulary.log2() } else { 0.0 };
        let difficulty = if n2 == 0 { 0.0 } else { f64::from(n1) / 2.0 * f64::from(total_n2) / f64::from(n2) };
        let effort = round(difficulty * volume);
        Self { n1, n2, total_n1, total_n2, volume: round(volume), difficulty: round(difficulty), effort }
    }
}

/// Passes on keys that are hashes already.
#[derive(Default)]
struct Passthrough(u64);

impl Hasher for Passthrough {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {}

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

/// Where no earlier token is the same.
const FIRST: u32 = 0;

/// All operators and operands of a file in order, each with the position of the last one that is the same.
///
/// A token is the first of its kind in a range if the one before it lies outside: so the distinct tokens of every function are
/// counted by one look at its part of the list, without a set for each function.
#[derive(Default)]
pub(super) struct Tokens {
    operators: Vec<u32>,
    last_operator: Vec<u32>,
    operands: Vec<u32>,
    last_operand: HashMap<u64, u32, BuildHasherDefault<Passthrough>>,
}

/// A place in the list of tokens.
#[derive(Clone, Copy, Default)]
pub(super) struct Position {
    operators: usize,
    operands: usize,
}

impl Tokens {
    pub(super) fn operator(&mut self, kind: u16) {
        let kind = usize::from(kind);
        if self.last_operator.len() <= kind {
            self.last_operator.resize(kind + 1, FIRST);
        }
        self.operators.push(self.last_operator[kind]);
        self.last_operator[kind] = position(self.operators.len());
    }

    pub(super) fn operand(&mut self, text: &[u8]) {
        let next = position(self.operands.len() + 1);
        let last = self.last_operand.insert(token_hash(text), next);
        self.operands.push(last.unwrap_or(FIRST));
    }

    pub(super) fn position(&self) -> Position {
        Position { operators: self.operators.len(), operands: self.operands.len() }
    }

    /// The figures of everything since a position.
    pub(super) fn since(&self, start: Position) -> Halstead {
        let (n1, total_n1) = count(&self.operators, start.operators);
        let (n2, total_n2) = count(&self.operands, start.operands);
        Halstead::new(n1, n2, total_n1, total_n2)
    }
}

/// Distinct and all tokens since `start`. Positions count from 1, so that 0 is before everything.
fn count(tokens: &[u32], start: usize) -> (u32, u32) {
    let tokens = tokens.get(start..).unwrap_or_default();
    let start = position(start);
    let distinct = tokens.iter().filter(|last| **last <= start).count();
    (position(distinct), position(tokens.len()))
}

/// Source is limited to a few megabytes, so positions fit.
fn position(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
