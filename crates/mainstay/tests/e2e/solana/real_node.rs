//! The tools against a real node: Surfpool, which embeds the Agave runtime, on a chain of its own.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use mainstay_solana::transaction::{Transaction, Wallet};
use serde_json::{Value, json};

use crate::testing::examples::interpreter;
use crate::testing::program::{Http, Server, StdioServer, initialize};

use super::with_node;

/// Starts a node on ports of its own, and says where it is.
const SCRIPT: &str = "const { Surfnet } = require(process.env.MAINSTAY_TEST_SURFPOOL);
const node = Surfnet.startWithConfig(JSON.stringify({ offline: true, blockProductionMode: 'clock', slotTimeMs: 20 }));
console.log(node.rpcUrl);
console.log(node.wsUrl);
setInterval(() => {}, 1000);";

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

struct Node {
    child: Child,
    url: String,
    ws_url: String,
}

impl Node {
    /// `None` on a developer's machine without one; in CI that is a failure.
    fn start() -> Option<Self> {
        let package = std::env::var_os("MAINSTAY_TEST_SURFPOOL");
        assert!(
            package.is_some() || std::env::var_os("CI").is_none(),
            "MAINSTAY_TEST_SURFPOOL is not set; `cargo xtask test` installs a node and sets it"
        );
        package?;
        let mut command = Command::new(interpreter("MAINSTAY_TEST_NODE", "node"));
        let mut child = command.args(["-e", SCRIPT]).stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut line = || lines.next().unwrap().unwrap();
        let (url, ws_url) = (line(), line());
        assert!(url.starts_with("http://127.0.0.1:") && ws_url.starts_with("ws://127.0.0.1:"), "{url} {ws_url}");
        Some(Self { child, url, ws_url })
    }

    /// Calls the node without the server under test.
    fn rpc(&self, method: &str, params: &Value) -> Value {
        let mut http = Http::connect(self.url.strip_prefix("http://").unwrap().parse().unwrap());
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
        let host = http.host();
        let headers = [("Host", host.as_str()), ("Content-Type", "application/json")];
        let reply = http.send("POST /", &headers, body.as_bytes()).unwrap();
        serde_json::from_str(&reply.body).unwrap_or_else(|error| panic!("{error}: {}", reply.body))
    }

    /// Waits for the result of a method to satisfy a condition.
    fn wait_for(&self, method: &str, params: &Value, is_there: impl Fn(&Value) -> bool) -> Value {
        let end = Instant::now() + Duration::from_secs(20);
        loop {
            let answer = self.rpc(method, params);
            if is_there(&answer["result"]) {
                return answer["result"].clone();
            }
            assert!(Instant::now() < end, "{method} never got there: {answer}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The server with the node, and a connection to it.
struct Chain {
    node: Node,
    http: Http,
    _server: Server,
    _data: tempfile::TempDir,
}

impl Chain {
    fn start() -> Option<Self> {
        let node = Node::start()?;
        let data = tempfile::tempdir().unwrap();
        let server = Server::from(with_node(data.path(), &["serve", "--listen", "127.0.0.1:0"], &node.url));
        Some(Self { http: server.connect(), node, _server: server, _data: data })
    }

    fn request(&mut self, method: &str, params: &Value) -> Value {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
        let host = self.http.host();
        let headers = [("Host", host.as_str()), ("Content-Type", "application/json")];
        let reply = self.http.send("POST /api/mcp", &headers, body.as_bytes()).unwrap();
        serde_json::from_str(&reply.body).unwrap_or_else(|error| panic!("{error}: {}", reply.body))
    }

    /// The whole result of a tool.
    fn result(&mut self, tool: &str, args: &Value) -> Value {
        let answer = self.request("tools/call", &json!({"name": tool, "arguments": args}));
        assert!(answer["error"].is_null(), "{tool} {args}: {answer}");
        answer["result"].clone()
    }

    /// The text of a tool that has to succeed.
    fn text(&mut self, tool: &str, args: &Value) -> String {
        let result = self.result(tool, args);
        assert!(result["isError"].is_null(), "{tool} {args}: {result}");
        result["content"][0]["text"].as_str().unwrap().to_owned()
    }

    fn value(&mut self, tool: &str, args: &Value) -> Value {
        serde_json::from_str(&self.text(tool, args)).unwrap()
    }

    /// A wallet with this many lamports.
    fn wallet(&mut self, seed: u8, lamports: u64) -> Wallet {
        let wallet = wallet(seed);
        let address = wallet.address().to_string();
        let funded = self.node.rpc("requestAirdrop", &json!([address, lamports]));
        assert!(funded["result"].is_string(), "{funded}");
        self.node.wait_for("getBalance", &json!([address]), |balance| balance["value"] == lamports);
        wallet
    }

    /// Sends a signed transaction past the server, and waits until the chain has it.
    fn send(&mut self, transaction: &Transaction) -> String {
        let sent = self.node.rpc("sendTransaction", &json!([transaction.to_base64(), {"encoding": "base64"}]));
        let signature = sent["result"].as_str().unwrap_or_else(|| panic!("{sent}")).to_owned();
        let is_there = |statuses: &Value| statuses["value"][0]["confirmationStatus"] == "finalized";
        self.node.wait_for("getSignatureStatuses", &json!([[signature]]), is_there);
        signature
    }
}

/// The key pair of a seed of equal bytes, in the form of a key file.
fn wallet(seed: u8) -> Wallet {
    use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};
    let pair = Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).unwrap();
    let bytes: Vec<u8> = [seed; 32].into_iter().chain(pair.public_key().as_ref().iter().copied()).collect();
    Wallet::from_file_contents(&json!(bytes).to_string()).unwrap()
}

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
    assert!(names.len() >= 56, "{names:?}");
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
    let (wallet, other) = (chain.wallet(2, 2_000_000_000), self::wallet(3).address().to_string());
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
    let to = self::wallet(5).address().to_string();
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
    let (address, to) = (wallet.address().to_string(), self::wallet(7).address().to_string());
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
