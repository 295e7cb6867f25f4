//! A small chain, served over HTTP by nodes that share it: it decodes and executes transfers, counts blocks, and fails
//! as it is told (`faults.rs`). `methods.rs` has the answers of a node, `http.rs` the connections.

mod faults;
mod http;
mod methods;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use mainstay_solana::transaction::{Message, Transaction};
use parking_lot::Mutex;
use serde_json::{Value, json};
use solana_address::Address;
use solana_hash::Hash;
use tokio::time::Instant;

pub(super) use faults::{Fault, RATE_LIMITED, RandomFaults, UNHEALTHY};
pub(super) use http::LedgerNode;

/// For how many blocks a blockhash is valid.
pub(super) const VALID_BLOCKS: u64 = 150;
/// After how many blocks a transaction is confirmed, and finalized.
const CONFIRMED_AFTER: u64 = 2;
pub(super) const FINALIZED_AFTER: u64 = 20;
/// For how many blocks nodes know a transaction without a search of their history.
const RECENT_BLOCKS: u64 = 300;
const FIRST_HEIGHT: u64 = 1000;
/// Slots without a block: whoever takes a slot for a height is wrong by as much.
const SKIPPED_SLOTS: u64 = 500;
pub(super) const SIGNATURE_FEE: u64 = 5000;

/// When there is a new block.
pub(super) enum Blocks {
    /// When the test says so.
    Manual(AtomicU64),
    Every {
        since: Instant,
        duration: Duration,
    },
}

/// What a node tells about balances when it simulates.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Tells {
    Balances,
    Accounts,
    Nothing,
}

/// A transaction that the chain has executed.
#[derive(Debug, Clone)]
pub(super) struct Executed {
    pub(super) lamports: u64,
    pub(super) height: u64,
    error: Value,
}

struct State {
    executed: BTreeMap<String, Executed>,
    /// Accepted by a node, and executed at this height.
    later: Vec<(u64, Transaction)>,
    /// The options of every `sendTransaction` that has arrived, whatever became of it, by signature.
    arrivals: HashMap<String, Vec<Value>>,
    balances: HashMap<Address, u64>,
    requests: HashMap<String, usize>,
    /// Answers that the test has given instead of those of the chain: the member `result` or `error`, by method.
    answers: HashMap<String, Value>,
    faults: HashMap<String, VecDeque<Fault>>,
    random: Option<RandomFaults>,
    /// Every transaction is accepted, and none is executed.
    is_dropping: bool,
    /// What simulation, preflight check and execution of transfers of this many lamports report.
    failures: HashMap<u64, Value>,
    tells: Tells,
}

pub(super) struct Ledger {
    blocks: Blocks,
    state: Mutex<State>,
}

impl Ledger {
    pub(super) fn new(blocks: Blocks) -> Arc<Self> {
        let state = State {
            executed: BTreeMap::new(),
            later: Vec::new(),
            arrivals: HashMap::new(),
            balances: HashMap::new(),
            requests: HashMap::new(),
            answers: HashMap::new(),
            faults: HashMap::new(),
            random: None,
            is_dropping: false,
            failures: HashMap::new(),
            tells: Tells::Balances,
        };
        Arc::new(Self { blocks, state: Mutex::new(state) })
    }

    pub(super) fn manual() -> Arc<Self> {
        Self::new(Blocks::Manual(AtomicU64::new(FIRST_HEIGHT)))
    }

    pub(super) fn every(duration: Duration) -> Arc<Self> {
        Self::new(Blocks::Every { since: Instant::now(), duration })
    }

    pub(super) fn height(&self) -> u64 {
        match &self.blocks {
            Blocks::Manual(height) => height.load(Ordering::SeqCst),
            Blocks::Every { since, duration } => {
                FIRST_HEIGHT + u64::try_from(since.elapsed().as_nanos() / duration.as_nanos()).unwrap()
            }
        }
    }

    /// Makes new blocks.
    pub(super) fn advance(&self, blocks: u64) {
        match &self.blocks {
            Blocks::Manual(height) => _ = height.fetch_add(blocks, Ordering::SeqCst),
            Blocks::Every { .. } => panic!("the blocks of this ledger follow the clock"),
        }
    }

    /// The newest blockhash that is confirmed.
    pub(super) fn blockhash(&self) -> Hash {
        blockhash(self.height() - CONFIRMED_AFTER)
    }

    pub(super) fn fund(&self, account: Address, lamports: u64) {
        self.state.lock().balances.insert(account, lamports);
    }

    /// The next request of a method fails like this; several wait for their turn.
    pub(super) fn inject(&self, method: &str, fault: Fault) {
        self.state.lock().faults.entry(method.to_owned()).or_default().push_back(fault);
    }

    pub(super) fn inject_at_random(&self, faults: RandomFaults) {
        self.state.lock().random = Some(faults);
    }

    pub(super) fn answer(&self, method: &str, result: impl Into<Value>) {
        let result: Value = result.into();
        self.state.lock().answers.insert(method.to_owned(), json!({ "result": result }));
    }

    pub(super) fn fail(&self, method: &str, error: impl Into<Value>) {
        let error: Value = error.into();
        self.state.lock().answers.insert(method.to_owned(), json!({ "error": error }));
    }

    /// Answers a method as the chain does again.
    pub(super) fn heal(&self, method: &str) {
        self.state.lock().answers.remove(method);
    }

    pub(super) fn drop_all(&self, is_dropping: bool) {
        self.state.lock().is_dropping = is_dropping;
    }

    /// Transfers of this amount fail.
    pub(super) fn fail_transfer(&self, lamports: u64, error: Value) {
        self.state.lock().failures.insert(lamports, error);
    }

    pub(super) fn tell(&self, tells: Tells) {
        self.state.lock().tells = tells;
    }

    /// A transaction reaches the chain without a node of the test.
    pub(super) fn take(&self, transaction: &Transaction) {
        self.state.lock().execute(transaction, self.height());
    }

    /// The fork on which a transaction was executed is dropped, and the transaction with it.
    pub(super) fn forget(&self, signature: &str) {
        self.state.lock().executed.remove(signature).unwrap();
    }

    pub(super) fn executed(&self) -> BTreeMap<String, Executed> {
        self.run_later(&mut self.state.lock());
        self.state.lock().executed.clone()
    }

    pub(super) fn has_executed(&self, lamports: u64) -> bool {
        self.executed().values().any(|executed| executed.lamports == lamports)
    }

    /// The options with which a transaction has arrived.
    pub(super) fn arrivals(&self, signature: &str) -> Vec<Value> {
        self.state.lock().arrivals.get(signature).cloned().unwrap_or_default()
    }

    pub(super) fn signatures(&self) -> Vec<String> {
        self.state.lock().arrivals.keys().cloned().collect()
    }

    pub(super) fn requests(&self, method: &str) -> usize {
        self.state.lock().requests.get(method).copied().unwrap_or_default()
    }

    pub(super) fn all_requests(&self) -> usize {
        self.state.lock().requests.values().sum()
    }

    /// Executes what was accepted before and is due by now.
    fn run_later(&self, state: &mut State) {
        let height = self.height();
        let (due, rest) = std::mem::take(&mut state.later).into_iter().partition(|(at, _)| *at <= height);
        state.later = rest;
        let due: Vec<(u64, Transaction)> = due;
        for (at, transaction) in due {
            state.execute(&transaction, at);
        }
    }
}

impl State {
    /// Executes a transaction unless it was before, or its blockhash has expired.
    fn execute(&mut self, transaction: &Transaction, height: u64) {
        let signature = transaction.id().unwrap().to_string();
        let is_valid = is_valid_at(&transaction.message().recent_blockhash(), height);
        if self.is_dropping || !is_valid || self.executed.contains_key(&signature) {
            return;
        }
        let Transfer { from, to, lamports } = Transfer::of(transaction.message());
        if self.random.as_mut().is_some_and(|faults| faults.dooms(lamports, &signature)) {
            return;
        }
        let error = self.failures.get(&lamports).cloned().unwrap_or_default();
        let moved = if error.is_null() { lamports } else { 0 };
        *self.balances.entry(from).or_default() -= moved + SIGNATURE_FEE;
        *self.balances.entry(to).or_default() += moved;
        self.executed.insert(signature, Executed { lamports, height, error });
    }
}

/// The one transfer of a message.
struct Transfer {
    from: Address,
    to: Address,
    lamports: u64,
}

impl Transfer {
    fn of(message: &Message) -> Self {
        let instruction = message.instructions().last().unwrap();
        let account = |index: usize| message.account_keys()[usize::from(instruction.accounts[index])];
        let lamports = instruction.data.get(4..12).map_or(0, |bytes| u64::from_le_bytes(bytes.try_into().unwrap()));
        Self { from: account(0), to: account(1), lamports }
    }
}

/// The blockhash of a height, from which the height can be read.
fn blockhash(height: u64) -> Hash {
    let mut bytes = [7; 32];
    bytes[..8].copy_from_slice(&height.to_le_bytes());
    Hash::new_from_array(bytes)
}

/// Whether a block of this height may have a transaction with the blockhash.
fn is_valid_at(hash: &Hash, height: u64) -> bool {
    let made = u64::from_le_bytes(hash.as_bytes()[..8].try_into().unwrap());
    *hash == blockhash(made) && made <= height && height <= made + VALID_BLOCKS
}
