//! Sending, against a small chain on loopback.

mod airdrop;
mod approval;
mod expiry;
mod faults;
mod idempotency;
mod key_file;
mod limits;
mod outcome;
mod relay;
mod settings;
mod takeover;

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use mainstay_core::{Approval, Caller, Context, Error, Principal, Reason, Registry, Reply, Result};
use mainstay_solana::transaction::{Transaction, Wallet, transfer_sol};
use mainstay_store::{SendState, SentTransaction, Store};
use serde_json::{Value, json};
use solana_address::Address;

use super::super::sending::SendPace;
use super::super::{SendLevel, SolanaNetwork, SolanaSending, SolanaSettings, paced_family};
use super::ledger::{Ledger, LedgerNode};
use crate::testing;

const NETWORK: &str = "localnet";
const SOL: u64 = 1_000_000_000;
/// Quick enough for tests, and slow enough that a blockhash does not expire while a busy machine pauses.
const BLOCK: Duration = Duration::from_millis(20);

/// Calls and states that have not come by then never come.
const LONGEST: Duration = Duration::from_mins(1);

const PACE: SendPace = SendPace {
    first: Duration::from_millis(10),
    slowest: Duration::from_millis(50),
    resend: Duration::from_millis(50),
    request: Duration::from_secs(1),
    alone: Duration::from_secs(5),
};

/// The family with a wallet, a store and nodes of its own.
struct World {
    registry: Registry,
    ledger: Arc<Ledger>,
    nodes: Vec<LedgerNode>,
    settings: SolanaSettings,
    store: Store,
    directory: tempfile::TempDir,
}

/// A key file as `solana-keygen` writes it: the seed, then the public key.
fn key_file(seed: u8, address: &str) -> String {
    let address: Address = address.parse().unwrap();
    let bytes: Vec<u8> = [[seed; 32], address.to_bytes()].concat();
    json!(bytes).to_string()
}

/// The wallet of the server.
fn wallet() -> Wallet {
    Wallet::from_file_contents(&key_file(1, "AKnL4NNf3DGWZJS6cPknBuEGnVsV4A4m5tgebLHaRSZ9")).unwrap()
}

/// Somebody who signs without the server.
fn other_wallet() -> Wallet {
    Wallet::from_file_contents(&key_file(2, "9hSR6S7WPtxmTojgo6GG3k4yDPecgJY292j7xrsUGWBu")).unwrap()
}

fn recipient() -> Address {
    Address::new_from_array([5; 32])
}

fn write_key(path: &Path, mode: u32) {
    std::fs::write(path, key_file(1, &wallet().address().to_string())).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

fn key_path(directory: &Path) -> PathBuf {
    directory.join("wallet.json")
}

/// A wallet with limits that most tests do not reach.
fn wallet_settings(directory: &Path) -> SolanaSending {
    SolanaSending {
        level: SendLevel::Wallet,
        key_file: Some(key_path(directory)),
        max_lamports: Some(SOL),
        max_lamports_per_day: Some(10 * SOL),
        ..SolanaSending::default()
    }
}

fn settings(nodes: &[LedgerNode], sending: SolanaSending) -> SolanaSettings {
    let urls = nodes.iter().map(|node| node.url.clone()).collect();
    let network = SolanaNetwork { urls, sending, ..SolanaNetwork::default() };
    let networks = [(NETWORK.to_owned(), network)].into();
    SolanaSettings { network: NETWORK.to_owned(), networks, ..SolanaSettings::default() }
}

/// A call that nobody has approved.
fn unapproved() -> Context {
    Context::detached()
}

fn approved(state: &str) -> Context {
    let mut context = Context::detached();
    context.approval = Approval::Plan(state.to_owned());
    context
}

/// A call of somebody else.
fn by_other(mut context: Context) -> Context {
    let principal = Principal::new("https://issuer.example", "other");
    context.caller = Arc::new(Caller { principal, ..Caller::local(None) });
    context
}

/// What a person is asked to approve.
fn plan_of(error: &Error) -> &mainstay_core::PlannedChange {
    match error.reason.as_deref() {
        Some(Reason::Unapproved(plan)) => plan,
        _ => panic!("{error:?}"),
    }
}

impl World {
    /// With relay of transactions that others have signed.
    async fn relay(ledger: Arc<Ledger>) -> Self {
        let relay = |_: &Path| SolanaSending { level: SendLevel::Relay, ..SolanaSending::default() };
        Self::with(ledger, 1, PACE, relay).await
    }

    async fn wallet(ledger: Arc<Ledger>) -> Self {
        Self::with(ledger, 1, PACE, wallet_settings).await
    }

    /// `sending` is made from the directory in which the key file lies.
    async fn with(
        ledger: Arc<Ledger>,
        nodes: usize,
        pace: SendPace,
        sending: impl FnOnce(&Path) -> SolanaSending,
    ) -> Self {
        for account in [wallet().address(), other_wallet().address()] {
            ledger.fund(account, 100_000 * SOL);
        }
        let nodes = futures::future::join_all((0..nodes).map(|_| ledger.node())).await;
        let directory = tempfile::tempdir().unwrap();
        write_key(&key_path(directory.path()), 0o600);
        let store = testing::setup_in(&directory).await.store;
        let settings = settings(&nodes, sending(directory.path()));
        let registry = Registry::new(vec![paced_family(&settings, &store, pace).unwrap()]).unwrap();
        Self { registry, ledger, nodes, settings, store, directory }
    }

    async fn call(&self, name: &str, args: Value, context: &Context) -> Result<Reply> {
        let tool = self.registry.tool(name).unwrap_or_else(|| panic!("there is no tool {name}"));
        tool.check(&args)?;
        tokio::time::timeout(LONGEST, tool.call(args, context)).await.expect("the call does not end")
    }

    /// A call that a person approves.
    async fn send(&self, name: &str, args: Value) -> Reply {
        let error = self.call(name, args.clone(), &unapproved()).await.unwrap_err();
        self.call(name, args, &approved(&plan_of(&error).state)).await.unwrap()
    }

    /// A transaction that somebody else has signed.
    fn signed(&self, lamports: u64) -> Transaction {
        let from = other_wallet();
        let message = transfer_sol(from.address(), recipient(), lamports, self.ledger.blockhash()).unwrap();
        from.sign(&message).unwrap()
    }

    async fn stored(&self, signature: &str) -> Option<SentTransaction> {
        self.store.sent_transactions().find(NETWORK, signature).await.unwrap()
    }

    /// What the wallet has spent or reserved today.
    async fn spent(&self) -> u64 {
        let account = wallet().address().to_string();
        self.store.sent_transactions().spent(NETWORK, &account, "SOL", 0).await.unwrap()
    }

    /// Waits until a transaction has this state on record.
    async fn until(&self, signature: &str, state: SendState) {
        let reached = async {
            while self.stored(signature).await.is_none_or(|stored| stored.state != state) {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let in_time = tokio::time::timeout(LONGEST, reached).await;
        assert!(in_time.is_ok(), "{signature} is not {state:?} but {:?}", self.stored(signature).await);
    }

    /// Nothing is on record and nothing has reached a node.
    async fn assert_nothing_sent(&self) {
        assert_eq!(self.store.sent_transactions().unfinished(10).await.unwrap(), []);
        assert_eq!(self.ledger.requests("sendTransaction"), 0);
        assert!(self.ledger.executed().is_empty());
    }
}

/// Waits until this is the case.
async fn eventually(mut is_so: impl FnMut() -> bool) {
    let so = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(LONGEST, so).await.expect("it never happens");
}

/// Lets a call run, which must not end, until this is the case.
async fn run_until(call: Pin<&mut impl Future<Output = Result<Reply>>>, is_so: impl FnMut() -> bool) {
    tokio::select! {
        ended = call => panic!("the call does not wait: {ended:?}"),
        () = eventually(is_so) => {}
    }
}

fn transfer(lamports: u64) -> Value {
    json!({"to": recipient().to_string(), "lamports": lamports})
}

/// The arguments of `transfer` with an idempotency key.
fn keyed(lamports: u64, key: &str) -> Value {
    json!({"to": recipient().to_string(), "lamports": lamports, "idempotency_key": key})
}

fn encoded(transaction: &Transaction) -> Value {
    json!({"transaction": transaction.to_base64()})
}

fn id(transaction: &Transaction) -> String {
    transaction.id().unwrap().to_string()
}

/// The `value` of a reply that has not failed.
fn value(reply: &Reply) -> &Value {
    assert!(!reply.failed, "{reply:?}");
    &reply.structured.as_ref().unwrap()["value"]
}

fn signature(reply: &Reply) -> String {
    reply.structured.as_ref().unwrap()["value"]["signature"].as_str().unwrap().to_owned()
}

/// The `error` of a reply that has failed.
fn error(reply: &Reply) -> &Value {
    assert!(reply.failed, "{reply:?}");
    &reply.structured.as_ref().unwrap()["error"]
}

/// The message of a reply that refuses to send.
fn refusal(reply: &Reply) -> &str {
    assert_eq!(error(reply)["name"], "Refused", "{reply:?}");
    error(reply)["message"].as_str().unwrap()
}
