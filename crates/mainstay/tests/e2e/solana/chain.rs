//! A real node, Surfpool, which embeds the Agave runtime, on a chain of its own; and the server with it.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};
use mainstay_solana::transaction::{Transaction, Wallet};
use serde_json::{Value, json};

use crate::testing::examples::interpreter;
use crate::testing::program::{Http, Server};

use super::with_node;

/// Starts a node on ports of its own, and says where it is.
const SCRIPT: &str = "const { Surfnet } = require(process.env.MAINSTAY_TEST_SURFPOOL);
const node = Surfnet.startWithConfig(JSON.stringify({ offline: true, blockProductionMode: 'clock', slotTimeMs: Number(process.env.SLOT_MS) }));
console.log(node.rpcUrl);
console.log(node.wsUrl);
setInterval(() => {}, 1000);";

pub(super) struct Node {
    child: Child,
    pub(super) url: String,
    pub(super) ws_url: String,
}

impl Node {
    /// `None` on a developer's machine without one; in CI that is a failure.
    pub(super) fn start(slot_ms: u32) -> Option<Self> {
        let package = std::env::var_os("MAINSTAY_TEST_SURFPOOL");
        assert!(
            package.is_some() || std::env::var_os("CI").is_none(),
            "MAINSTAY_TEST_SURFPOOL is not set; `cargo xtask test` installs a node and sets it"
        );
        package?;
        let mut command = Command::new(interpreter("MAINSTAY_TEST_NODE", "node"));
        let mut child = command
            .args(["-e", SCRIPT])
            .env("SLOT_MS", slot_ms.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut line = || lines.next().unwrap().unwrap();
        let (url, ws_url) = (line(), line());
        assert!(url.starts_with("http://127.0.0.1:") && ws_url.starts_with("ws://127.0.0.1:"), "{url} {ws_url}");
        Some(Self { child, url, ws_url })
    }

    /// Calls the node without the server under test.
    pub(super) fn rpc(&self, method: &str, params: &Value) -> Value {
        let mut http = Http::connect(self.url.strip_prefix("http://").unwrap().parse().unwrap());
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
        let host = http.host();
        let headers = [("Host", host.as_str()), ("Content-Type", "application/json")];
        let reply = http.send("POST /", &headers, body.as_bytes()).unwrap();
        serde_json::from_str(&reply.body).unwrap_or_else(|error| panic!("{error}: {}", reply.body))
    }

    /// Waits for the result of a method to satisfy a condition.
    pub(super) fn wait_for(&self, method: &str, params: &Value, is_there: impl Fn(&Value) -> bool) -> Value {
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
pub(super) struct Chain {
    pub(super) node: Node,
    pub(super) server: Server,
    pub(super) data: tempfile::TempDir,
    http: Http,
}

impl Chain {
    pub(super) fn start() -> Option<Self> {
        Self::configured("")
    }

    /// With more settings, as in the configuration file.
    pub(super) fn configured(settings: &str) -> Option<Self> {
        let node = Node::start(20)?;
        let data = tempfile::tempdir().unwrap();
        let server = serve(data.path(), settings, &node.url);
        Some(Self { http: server.connect(), node, server, data })
    }

    pub(super) fn request(&mut self, method: &str, params: &Value) -> Value {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
        let host = self.http.host();
        let headers = [("Host", host.as_str()), ("Content-Type", "application/json")];
        let reply = self.http.send("POST /api/mcp", &headers, body.as_bytes()).unwrap();
        serde_json::from_str(&reply.body).unwrap_or_else(|error| panic!("{error}: {}", reply.body))
    }

    /// The whole result of a tool.
    pub(super) fn result(&mut self, tool: &str, args: &Value) -> Value {
        let answer = self.request("tools/call", &json!({"name": tool, "arguments": args}));
        assert!(answer["error"].is_null(), "{tool} {args}: {answer}");
        answer["result"].clone()
    }

    /// The text of a tool that has to succeed.
    pub(super) fn text(&mut self, tool: &str, args: &Value) -> String {
        let result = self.result(tool, args);
        assert!(result["isError"].is_null(), "{tool} {args}: {result}");
        result["content"][0]["text"].as_str().unwrap().to_owned()
    }

    pub(super) fn value(&mut self, tool: &str, args: &Value) -> Value {
        serde_json::from_str(&self.text(tool, args)).unwrap()
    }

    /// A wallet with this many lamports.
    pub(super) fn wallet(&mut self, seed: u8, lamports: u64) -> Wallet {
        let wallet = wallet(seed);
        let address = wallet.address().to_string();
        let funded = self.node.rpc("requestAirdrop", &json!([address, lamports]));
        assert!(funded["result"].is_string(), "{funded}");
        self.node.wait_for("getBalance", &json!([address]), |balance| balance["value"] == lamports);
        wallet
    }

    /// Sends a signed transaction past the server, and waits until the chain has it.
    pub(super) fn send(&mut self, transaction: &Transaction) -> String {
        let sent = self.node.rpc("sendTransaction", &json!([transaction.to_base64(), {"encoding": "base64"}]));
        let signature = sent["result"].as_str().unwrap_or_else(|| panic!("{sent}")).to_owned();
        let is_there = |statuses: &Value| statuses["value"][0]["confirmationStatus"] == "finalized";
        self.node.wait_for("getSignatureStatuses", &json!([[signature]]), is_there);
        signature
    }
}

/// The server with these settings and this node.
pub(super) fn serve(data: &Path, settings: &str, node: &str) -> Server {
    std::fs::create_dir_all(data.join("mainstay")).unwrap();
    std::fs::write(data.join("mainstay/config.toml"), settings).unwrap();
    Server::from(with_node(data, &["serve", "--listen", "127.0.0.1:0"], node))
}

pub(super) fn key_pair(seed: u8) -> Ed25519KeyPair {
    Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).unwrap()
}

/// The key pair of a seed of equal bytes, in the form of a key file.
pub(super) fn key_file(seed: u8) -> String {
    let pair = key_pair(seed);
    let bytes: Vec<u8> = [seed; 32].into_iter().chain(pair.public_key().as_ref().iter().copied()).collect();
    json!(bytes).to_string()
}

pub(super) fn wallet(seed: u8) -> Wallet {
    Wallet::from_file_contents(&key_file(seed)).unwrap()
}
