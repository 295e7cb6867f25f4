//! Transactions from their making to the chain, through the tools and with the consent of a person.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use mainstay_solana::transaction::Transaction;
use serde_json::{Value, json};

use crate::testing::program::{Server, run};

use super::chain::{Chain, Node, key_file, serve, wallet};

/// The seed of the server's wallet.
pub(super) const WALLET: u8 = 40;

/// Settings with which transactions of others are sent.
pub(super) const RELAY: &str = "[solana.networks.localnet.sending]\nlevel = \"relay\"\n";

/// Settings with a wallet, whose key is in this directory.
pub(super) fn wallet_settings(directory: &Path, more: &str) -> String {
    let path = directory.join("wallet.json");
    std::fs::write(&path, key_file(WALLET)).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    format!(
        "[solana.networks.localnet.sending]\nlevel = \"wallet\"\nkey_file = \"{}\"\n\
         max_lamports = 600000000\nmax_lamports_per_day = 1000000000\n{more}",
        path.display()
    )
}

impl Chain {
    /// The id of the consent that a call needs.
    pub(super) fn consent_for(&mut self, tool: &str, args: &Value) -> String {
        let answer = self.request("tools/call", &json!({"name": tool, "arguments": args}));
        let id = answer["error"]["data"]["consent_id"].as_str();
        id.unwrap_or_else(|| panic!("{tool} {args}: {answer}")).to_owned()
    }

    /// `mainstay consent` on the machine of the server: its output.
    pub(super) fn consent(&self, args: &[&str]) -> String {
        let args: Vec<&str> = std::iter::once("consent").chain(args.iter().copied()).collect();
        let (status, out, error) = run(self.data.path(), &args);
        assert_eq!(status, 0, "{error}");
        out
    }

    /// Calls a tool that a person has to approve, approves it, and calls it again.
    pub(super) fn approved(&mut self, tool: &str, args: &Value) -> Value {
        let id = self.consent_for(tool, args);
        self.consent(&["approve", &id]);
        self.value(tool, args)
    }

    /// The error in the result of a tool that fails.
    pub(super) fn failure(&mut self, tool: &str, args: &Value) -> Value {
        let result = self.result(tool, args);
        assert_eq!(result["isError"], true, "{tool} {args}: {result}");
        let value: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
        value["error"].clone()
    }

    fn balance(&mut self, address: &str) -> String {
        let balance = self.value("getBalance", &json!({"pubkey": address, "commitment": "finalized"}));
        balance["display"]["lamports"].as_str().unwrap().to_owned()
    }
}

#[test]
fn a_transfer_is_built_simulated_approved_sent_confirmed_and_read_back() {
    let Some(mut chain) = Chain::configured(RELAY) else { return };
    let (sender, to) = (chain.wallet(20, 2_000_000_000), wallet(21).address().to_string());
    let from = sender.address().to_string();
    let built = chain.value("buildTransfer", &json!({"from": from, "to": to, "lamports": 500_000_000}));
    let unsigned = Transaction::from_base64(built["transaction"].as_str().unwrap()).unwrap();
    let signed = sender.sign(unsigned.message()).unwrap();
    let args = json!({"transaction": signed.to_base64(), "wait": "finalized"});

    let mut dry = args.clone();
    dry["dry_run"] = true.into();
    let verdict = chain.value("sendTransaction", &dry)["value"].clone();
    assert_eq!((&verdict["verdict"], &verdict["messageHash"]), (&json!("allowed"), &built["messageHash"]), "{verdict}");

    let id = chain.consent_for("sendTransaction", &args);
    let shown = chain.consent(&["list"]);
    for expected in ["-0.500005000 SOL", &from, &to, "cannot be undone", built["messageHash"].as_str().unwrap()] {
        assert!(shown.contains(expected), "{expected:?} is missing:\n{shown}");
    }
    assert_eq!(
        chain.node.rpc("getSignatureStatuses", &json!([[signed.id().unwrap().to_string()]]))["result"]["value"][0],
        Value::Null
    );
    chain.consent(&["approve", &id]);
    let sent = chain.value("sendTransaction", &args)["value"].clone();
    assert_eq!((&sent["status"], &sent["signature"]), (&json!("finalized"), &json!(signed.id().unwrap().to_string())));

    let read = chain.value("getTransaction", &json!({"signature": sent["signature"], "commitment": "finalized"}));
    assert_eq!((&read["value"]["meta"]["fee"], &read["value"]["meta"]["err"]), (&json!(5000), &Value::Null), "{read}");
    assert_eq!((chain.balance(&from).as_str(), chain.balance(&to).as_str()), ("1499995000", "500000000"));

    // The same transaction again is the same transaction: nobody is asked, and nothing moves.
    let again = chain.value("sendTransaction", &args)["value"].clone();
    assert_eq!(again, sent);
    assert_eq!(chain.balance(&from), "1499995000");
}

#[test]
fn what_the_chain_would_refuse_is_refused_before_anybody_is_asked() {
    let Some(mut chain) = Chain::configured(RELAY) else { return };
    let (sender, to) = (chain.wallet(22, 1_000_000_000), wallet(23).address().to_string());
    let from = sender.address().to_string();
    let build = |chain: &mut Chain, lamports: u64| {
        let built = chain.value("buildTransfer", &json!({"from": from, "to": to, "lamports": lamports}));
        Transaction::from_base64(built["transaction"].as_str().unwrap()).unwrap()
    };
    let unsigned = build(&mut chain, 1_000_000);
    let refused = |chain: &mut Chain, transaction: &Transaction, reason: &str| {
        let error = chain.failure("sendTransaction", &json!({"transaction": transaction.to_base64()}));
        assert!(error["name"] == "Refused" && error["message"].as_str().unwrap().contains(reason), "{error}");
    };
    refused(&mut chain, &unsigned, "signature is missing or does not fit");
    // The signature of another message.
    let other = sender.sign(build(&mut chain, 2_000_000).message()).unwrap();
    let bytes = [&[1], other.signatures()[0].as_ref(), &unsigned.message().to_bytes()].concat();
    refused(&mut chain, &Transaction::from_bytes(&bytes).unwrap(), "signature is missing or does not fit");
    let poor = sender.sign(build(&mut chain, 5_000_000_000).message()).unwrap();
    refused(&mut chain, &poor, "would fail");
    let signed = sender.sign(unsigned.message()).unwrap();
    let blockhash = unsigned.message().recent_blockhash().to_string();
    chain.node.wait_for("isBlockhashValid", &json!([blockhash]), |valid| valid["value"] == false);
    refused(&mut chain, &signed, "has expired");
    assert!(!chain.consent(&["list"]).contains("sendTransaction"));
    assert_eq!(chain.balance(&from), "1000000000");
}

#[test]
fn nothing_is_sent_where_it_is_off() {
    let Some(mut chain) = Chain::start() else { return };
    let sender = chain.wallet(24, 1_000_000_000);
    let from = sender.address().to_string();
    let built = chain.value("buildTransfer", &json!({"from": from, "to": from, "lamports": 1}));
    let unsigned = Transaction::from_base64(built["transaction"].as_str().unwrap()).unwrap();
    let signed = sender.sign(unsigned.message()).unwrap().to_base64();
    let error = chain.failure("sendTransaction", &json!({ "transaction": signed }));
    assert!(error["message"].as_str().unwrap().contains("solana.networks.localnet.sending.level"), "{error}");
    let listed = chain.request("tools/list", &json!({})).to_string();
    assert!(listed.contains("\"sendTransaction\"") && !listed.contains("transferSol"), "{listed}");
}

#[test]
fn the_wallet_sends_within_its_limits_and_only_what_was_approved() {
    let keys = tempfile::tempdir().unwrap();
    let Some(mut chain) = Chain::configured(&wallet_settings(keys.path(), "")) else { return };
    let (from, to) = (chain.wallet(WALLET, 2_000_000_000).address().to_string(), wallet(41).address().to_string());
    let networks = chain.value("solanaNetworks", &json!({"network": "localnet"}));
    assert_eq!(
        (&networks["networks"][0]["sending"], &networks["networks"][0]["wallet"]),
        (&json!("wallet"), &json!(from))
    );

    let args = json!({"to": to, "lamports": 500_000_000, "idempotency_key": "rent", "wait": "finalized"});
    let denied = chain.consent_for("transferSol", &args);
    chain.consent(&["deny", &denied, "--reason", "not today"]);
    let answer = chain.request("tools/call", &json!({"name": "transferSol", "arguments": args}));
    assert!(answer["error"]["message"].as_str().unwrap().contains("not today"), "{answer}");
    let signatures = chain.node.rpc("getSignaturesForAddress", &json!([to]));
    assert_eq!(signatures["result"], json!([]), "a denial makes no transaction");

    let other = json!({"to": to, "lamports": 400_000_000, "idempotency_key": "rent", "wait": "finalized"});
    let sent = chain.approved("transferSol", &other)["value"].clone();
    assert_eq!(sent["status"], "finalized", "{sent}");
    let again = chain.value("transferSol", &other)["value"].clone();
    assert_eq!(again, sent, "the same key is the same transfer");
    assert_eq!((chain.balance(&from).as_str(), chain.balance(&to).as_str()), ("1599995000", "400000000"));
    let answer = chain.request("tools/call", &json!({"name": "transferSol", "arguments": args}));
    assert!(answer["error"]["message"].as_str().unwrap().contains("used for another transaction"), "{answer}");

    let too_much = chain.failure("transferSol", &json!({"to": to, "lamports": 600_000_000}));
    assert!(too_much["message"].as_str().unwrap().contains("max_lamports"), "{too_much}");
    let today = chain.failure("transferSol", &json!({"to": to, "lamports": 599_000_000 + 5_000_000}));
    assert!(today["message"].as_str().unwrap().contains("at most 0.600000000 SOL"), "{today}");
    chain.approved("transferSol", &json!({"to": to, "lamports": 590_000_000}));
    let today = chain.failure("transferSol", &json!({"to": to, "lamports": 590_000_000}));
    assert!(today["message"].as_str().unwrap().contains("limit of 24 hours"), "{today}");
    assert_eq!(
        chain.value("transferSol", &json!({"to": to, "lamports": 1, "dry_run": true}))["value"]["verdict"],
        "allowed"
    );
    let log = chain.server.log();
    assert!(!log.contains(key_file(WALLET).split(',').take(8).collect::<Vec<_>>().join(",").as_str()), "{log}");
}

/// A node of which transactions get lost on the way while it is told so. Returns its URL.
struct LossyNode {
    url: String,
    loses: Arc<AtomicBool>,
    lost: Arc<AtomicUsize>,
}

impl LossyNode {
    fn before(node: &Node) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let target = node.url.strip_prefix("http://").unwrap().to_owned();
        let (loses, lost) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicUsize::new(0)));
        let (is_losing, count) = (loses.clone(), lost.clone());
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let (target, is_losing, count) = (target.clone(), is_losing.clone(), count.clone());
                std::thread::spawn(move || relay(client, &target, &is_losing, &count));
            }
        });
        Self { url, loses, lost }
    }
}

/// Passes one connection on; a lost transaction ends it.
fn relay(mut client: TcpStream, target: &str, loses: &AtomicBool, lost: &AtomicUsize) -> Option<()> {
    let mut node = TcpStream::connect(target).ok()?;
    let (mut answers, mut back) = (node.try_clone().ok()?, client.try_clone().ok()?);
    std::thread::spawn(move || std::io::copy(&mut answers, &mut back));
    let mut bytes = vec![0; 64 * 1024];
    loop {
        let read = client.read(&mut bytes).ok().filter(|read| *read > 0)?;
        if loses.load(Ordering::SeqCst) && String::from_utf8_lossy(&bytes[..read]).contains("sendTransaction") {
            lost.fetch_add(1, Ordering::SeqCst);
            let _ = node.shutdown(std::net::Shutdown::Both);
            return None;
        }
        node.write_all(&bytes[..read]).ok()?;
    }
}

#[test]
fn a_transfer_on_record_survives_kill_9_and_is_executed_once() {
    let Some(node) = Node::start(200) else { return };
    let lossy = LossyNode::before(&node);
    let (data, keys) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let settings = wallet_settings(keys.path(), "");
    let server = serve(data.path(), &settings, &lossy.url);
    let (from, to) = (wallet(WALLET).address().to_string(), wallet(42).address().to_string());
    node.rpc("requestAirdrop", &json!([from, 1_000_000_000]));
    node.wait_for("getBalance", &json!([from]), |balance| balance["value"] == 1_000_000_000);

    let args = json!({"to": to, "lamports": 300_000_000, "idempotency_key": "once", "wait": "none"});
    let call = |server: &Server| {
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "transferSol", "arguments": args}});
        server.connect().rpc("/api/mcp", &[], &message).message()
    };
    let id = call(&server)["error"]["data"]["consent_id"].as_str().unwrap().to_owned();
    let (status, _, error) = run(data.path(), &["consent", "approve", &id]);
    assert_eq!(status, 0, "{error}");
    let sent = |answer: Value| {
        let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned();
        serde_json::from_str::<Value>(&text).unwrap()["value"].clone()
    };
    let first = sent(call(&server));
    assert_eq!(first["status"], "pending", "{first}");
    assert!(lossy.lost.load(Ordering::SeqCst) > 0);
    server.kill();
    lossy.loses.store(false, Ordering::SeqCst);

    let server = serve(data.path(), &settings, &lossy.url);
    let is_there = |statuses: &Value| statuses["value"][0]["confirmationStatus"].is_string();
    node.wait_for("getSignatureStatuses", &json!([[first["signature"]]]), is_there);
    let again = sent(call(&server));
    assert_eq!(again["signature"], first["signature"], "{again}");
    node.wait_for("getBalance", &json!([to, {"commitment": "processed"}]), |balance| balance["value"] == 300_000_000);
    let of_wallet = node.rpc("getSignaturesForAddress", &json!([to]));
    assert_eq!(of_wallet["result"].as_array().map(Vec::len), Some(1), "{of_wallet}");
}
