//! How requests fail.

use std::collections::HashMap;

use crate::testing::TestRandom;

/// How one request fails. `taken` says whether a transaction reaches the chain all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Fault {
    /// An HTTP status without a JSON-RPC response.
    Status { status: u16, retry_after: Option<u64>, taken: bool },
    /// An error in the body, with status 200.
    Error { code: i64, message: &'static str },
    /// The connection is closed instead of an answer.
    Closed { taken: bool },
    /// The body ends early.
    Truncated,
    /// There is no answer before the client has given up.
    Silent { taken: bool },
    /// The node accepts the transaction and loses it.
    Dropped,
    /// The node accepts the transaction, which the chain executes so many blocks later if it is still valid.
    Later { blocks: u64 },
    /// The node is behind by so many blocks.
    Behind { blocks: u64 },
}

pub(in super::super) const RATE_LIMITED: Fault = Fault::Status { status: 429, retry_after: None, taken: false };
pub(in super::super) const UNHEALTHY: Fault = Fault::Error { code: -32005, message: "Node is behind by 42 slots" };
const LIMIT_IN_BODY: Fault = Fault::Error { code: -32429, message: "Too many requests" };

/// All faults, in an order that follows from the seed.
pub(in super::super) struct RandomFaults {
    random: TestRandom,
    /// Of which amounts the first transaction is never executed.
    is_doomed: fn(u64) -> bool,
    /// The doomed transactions by their amounts.
    doomed: HashMap<u64, String>,
}

impl RandomFaults {
    pub(in super::super) fn new(seed: u64, is_doomed: fn(u64) -> bool) -> Self {
        Self { random: TestRandom::new(seed), is_doomed, doomed: HashMap::new() }
    }

    /// Whether the chain never takes this transaction.
    pub(super) fn dooms(&mut self, lamports: u64, signature: &str) -> bool {
        (self.is_doomed)(lamports) && self.doomed.entry(lamports).or_insert_with(|| signature.to_owned()) == signature
    }

    /// How the next send fails, if it does: about a third of them.
    pub(super) fn of_send(&mut self) -> Option<Fault> {
        let taken = self.random.below(2) == 0;
        let blocks = 1 + self.random.below(160) as u64;
        Some(match self.random.below(1000) {
            0..20 => RATE_LIMITED,
            // Shorter rests cannot be asked for, and each of these stops all requests to a node for a second.
            20 => Fault::Status { status: 429, retry_after: Some(1), taken: false },
            21..30 => Fault::Status { status: 429, retry_after: Some(0), taken: false },
            30..50 => LIMIT_IN_BODY,
            50..80 => Fault::Status { status: 503, retry_after: None, taken },
            80..100 => UNHEALTHY,
            100..140 => Fault::Closed { taken },
            140..170 => Fault::Truncated,
            170..200 => Fault::Silent { taken },
            200..260 => Fault::Dropped,
            260..310 => Fault::Later { blocks },
            310..330 => Fault::Behind { blocks: 30 },
            _ => return None,
        })
    }

    /// How the next read fails, if it does. Seldom: the client waits up to seconds before it asks the same node again.
    pub(super) fn of_read(&mut self) -> Option<Fault> {
        let taken = false;
        Some(match self.random.below(1000) {
            0..5 => RATE_LIMITED,
            5..8 => LIMIT_IN_BODY,
            8..12 => Fault::Status { status: 503, retry_after: None, taken },
            12..16 => Fault::Truncated,
            16..20 => Fault::Closed { taken },
            // Less than what a client takes for being behind, and more than a transaction is valid.
            20..35 => Fault::Behind { blocks: 40 },
            35..38 => Fault::Behind { blocks: 200 },
            _ => return None,
        })
    }
}
