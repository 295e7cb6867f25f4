//! The tools against a real node: Surfpool, which embeds the Agave runtime, on a chain of its own.

use std::collections::BTreeMap;

use mainstay_solana::transaction::Transaction;
use serde_json::{Value, json};

use crate::testing::program::{StdioServer, initialize};

use super::chain::{Chain, Node, wallet as wallet_of};
use super::with_node;

/// What this node answers with an error, and its code. It lacks two methods that Agave has, makes no snapshots, and its
/// ledger begins when it is started; the account in the arguments is no token.
const ERRORS: [(&str, i64); 6] = [
    ("getAgGenesisCert", -32601),
    ("getBlock", -32602),
    ("getHighestSnapshotSlot", -32008),
    ("getRankMap", -32601),
    ("getTokenAccountBalance", -32602),
    ("getTokenSupply", -32602),
];

/// Arguments with which each method of the node can be called; others need none.
fn arguments(
    address: &str,
    signature: &str,
    blockhash: &str,
    message: &str,
    transaction: &str,
) -> BTreeMap<&'static str, Value> {
    let token_program = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA";
    BTreeMap::from([
        ("getBalance", json!({ "pubkey": address })),
        ("getAccountInfo", json!({ "pubkey": address })),
        ("getMultipleAccounts", json!({ "pubkeys": [address] })),
        ("getProgramAccounts", json!({"programId": token_program, "filters": [{"dataSize": 165}]})),
        ("getMinimumBalanceForRentExemption", json!({"dataLength": 100})),
        ("getTokenAccountsByOwner", json!({"owner": address, "programId": token_program})),
        ("getTokenAccountsByDelegate", json!({"delegate": address, "programId": token_program})),
        ("getTokenAccountBalance", json!({ "pubkey": address })),
        ("getTokenSupply", json!({ "mint": address })),
        ("getTokenLargestAccounts", json!({ "mint": address })),
        ("getTransaction", json!({ "signature": signature })),
        ("getSignaturesForAddress", json!({ "address": address })),
        ("getSignatureStatuses", json!({ "signatures": [signature] })),
        ("getFeeForMessage", json!({ "message": message })),
        ("isBlockhashValid", json!({ "blockhash": blockhash })),
        ("simulateTransaction", json!({ "transaction": transaction })),
        ("sendTransaction", json!({"transaction": transaction, "dry_run": true})),
        ("requestAirdrop", json!({"pubkey": address, "lamports": 1_000_000})),
        ("getBlock", json!({"slot": 1})),
        ("getBlocks", json!({"startSlot": 1, "endSlot": 5})),
        ("getBlocksWithLimit", json!({"startSlot": 1, "limit": 5})),
        ("getBlockTime", json!({"slot": 1})),
        ("getBlockCommitment", json!({"slot": 1})),
        ("getSlotLeaders", json!({"startSlot": 1, "limit": 5})),
        ("getInflationReward", json!({ "addresses": [address] })),
        ("getRankMap", json!({"slot": 1})),
        ("solanaRpc", json!({"method": "getSlot"})),
        ("describeTransaction", json!({ "signature": signature })),
        ("buildTransfer", json!({"from": address, "to": address, "lamports": 1})),
    ])
}

#[test]
fn every_method_of_the_table_answers_or_is_a_known_gap() {
    let Some(mut chain) = Chain::start() else { return };
    let wallet = chain.wallet(1, 1_000_000_000);
    let address = wallet.address().to_string();
    let built = chain.value("buildTransfer", &json!({"from": address, "to": address, "lamports": 1}));
    let unsigned = Transaction::from_base64(built["transaction"].as_str().unwrap()).unwrap();
    let signature = chain.send(&wallet.sign(unsigned.message()).unwrap());
    let blockhash = unsigned.message().recent_blockhash().to_string();
    let message = base64(&unsigned.message().to_bytes());
    let arguments = arguments(&address, &signature, &blockhash, &message, &unsigned.to_base64());
    let listed = chain.request("tools/list", &json!({}));
    let names: Vec<String> = listed["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap().to_owned())
        .collect();
    assert!(names.len() >= 58, "{names:?}");
    let mut errors = Vec::new();
    for name in &names {
        let result = chain.result(name, &arguments.get(name.as_str()).cloned().unwrap_or_else(|| json!({})));
        if result["isError"] == true {
            let text = result["content"][0]["text"].as_str().unwrap();
            let error: Value = serde_json::from_str(text).unwrap();
            let code = error["error"]["code"].as_i64();
            errors
                .push((name.as_str(), code.unwrap_or_else(|| panic!("{name} was not answered by the node: {error}"))));
        }
    }
    assert_eq!(errors, ERRORS);
}

#[test]
fn a_transfer_is_built_explained_and_read_back() {
    let Some(mut chain) = Chain::start() else { return };
    let (wallet, other) = (chain.wallet(2, 2_000_000_000), wallet_of(3).address().to_string());
    let address = wallet.address().to_string();
    let built = chain.value("buildTransfer", &json!({"from": address, "to": other, "lamports": 500_000_000}));
    assert_eq!((&built["error"], &built["feePayer"]), (&Value::Null, &json!(address)), "{built}");
    let unsigned = Transaction::from_base64(built["transaction"].as_str().unwrap()).unwrap();
    let signed = wallet.sign(unsigned.message()).unwrap();
    let signature = chain.send(&signed);
    let words = chain.text("describeTransaction", &json!({ "signature": signature }));
    for expected in [
        "The transaction succeeded.",
        &format!("Signed and paid for by {address}."),
        "Fee: 0.000005000 SOL.",
        &format!("{address}: -0.500005000 SOL"),
        &format!("{other}: +0.500000000 SOL"),
        "System",
    ] {
        assert!(words.contains(expected), "{expected:?} is missing:\n{words}");
    }
    let balance = chain.value("getBalance", &json!({"pubkey": address, "commitment": "finalized"}));
    assert_eq!(balance["display"]["lamports"], "1499995000", "{balance}");
    let uri = format!("solana://localnet/tx/{signature}");
    let read = chain.request("resources/read", &json!({ "uri": uri }));
    let text = read["result"]["contents"][0]["text"].as_str().unwrap_or_else(|| panic!("{read}"));
    let value: Value = serde_json::from_str(text).unwrap();
    assert_eq!(value["value"]["meta"]["fee"], 5000);
    // The same transaction again is rejected, and so is one whose signature does not fit.
    let again = chain.node.rpc("sendTransaction", &json!([signed.to_base64(), {"encoding": "base64"}]));
    assert!(again["error"].is_object(), "{again}");
    let unsigned_again = chain.node.rpc("sendTransaction", &json!([unsigned.to_base64(), {"encoding": "base64"}]));
    assert!(unsigned_again["error"].is_object(), "{unsigned_again}");
}

#[test]
fn a_transfer_that_would_fail_says_so_before_it_is_signed() {
    let Some(mut chain) = Chain::start() else { return };
    let wallet = chain.wallet(4, 1_000_000_000);
    let address = wallet.address().to_string();
    let to = wallet_of(5).address().to_string();
    let built = chain.value("buildTransfer", &json!({"from": address, "to": to, "lamports": 5_000_000_000_u64}));
    assert!(!built["error"].is_null(), "{built}");
    assert!(built["summary"].as_str().unwrap().starts_with("The transaction would fail"), "{built}");
}

/// A session of the standard protocol that hears of changes.
struct Subscriber(StdioServer);

impl Subscriber {
    fn start(node: &Node) -> Self {
        let data = tempfile::tempdir().unwrap();
        let mut program = with_node(data.path(), &["stdio", "--tools", "solana"], &node.url);
        program.env("MAINSTAY__SOLANA__NETWORKS__LOCALNET__WS_URL", &node.ws_url);
        let mut stdio = StdioServer::from(program, data);
        assert!(stdio.ask(&initialize(0))["result"]["serverInfo"]["name"].is_string());
        stdio.write(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        Self(stdio)
    }

    fn request(&mut self, method: &str, uri: &str) -> Value {
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": {"uri": uri}});
        self.0.write(message.to_string().as_bytes());
        // Notifications may come first.
        loop {
            let answer = self.0.read().unwrap();
            if answer["id"] == 1 {
                return answer;
            }
        }
    }

    /// Waits for the notification that this resource has changed.
    fn hears_of(&mut self, uri: &str) {
        loop {
            let message = self.0.read().unwrap();
            if message["method"] == "notifications/resources/updated" && message["params"]["uri"] == uri {
                return;
            }
        }
    }
}

#[test]
fn subscribers_hear_of_accounts_logs_transactions_and_slots() {
    let Some(mut chain) = Chain::start() else { return };
    let wallet = chain.wallet(6, 1_000_000_000);
    let (address, to) = (wallet.address().to_string(), wallet_of(7).address().to_string());
    let mut subscriber = Subscriber::start(&chain.node);
    let built = chain.value("buildTransfer", &json!({"from": address, "to": to, "lamports": 100_000_000}));
    let unsigned = Transaction::from_base64(built["transaction"].as_str().unwrap()).unwrap();
    let signed = wallet.sign(unsigned.message()).unwrap();
    let uris = [
        "solana://localnet/slot".to_owned(),
        format!("solana://localnet/account/{address}"),
        format!("solana://localnet/logs/{address}"),
        format!("solana://localnet/tx/{}", signed.id().unwrap()),
    ];
    for uri in &uris[1..] {
        let answer = subscriber.request("resources/subscribe", uri);
        assert!(answer["result"].is_object(), "{uri}: {answer}");
    }
    chain.send(&signed);
    let mut left: Vec<&String> = uris[1..].iter().collect();
    while !left.is_empty() {
        let message = subscriber.0.read().unwrap();
        left.retain(|uri| message["params"]["uri"] != **uri);
    }
    assert!(subscriber.request("resources/subscribe", &uris[0])["result"].is_object());
    subscriber.hears_of(&uris[0]);
    for wrong in ["solana://localnet/account/x", "solana://mars/slot", "solana://localnet/nothing"] {
        assert_eq!(subscriber.request("resources/subscribe", wrong)["error"]["code"], -32602, "{wrong}");
    }
}

fn base64(bytes: &[u8]) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}
