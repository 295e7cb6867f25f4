//! A workspace with sources, and the programs that search it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::PROGRAM;
use crate::testing::program::{Http, Server, StdioServer, initialize};

/// Where the token is verified: `verify_token` is in these lines, with the comments before it.
pub(super) const VERIFY_LINES: (u32, u32) = (1, 7);

const SAMPLE: [(&str, &str); 5] = [
    (
        "src/token.rs",
        "//! Access tokens.\n\n/// Verifies the signature of an access token and returns its claims.\npub fn verify_token(token: &str, key: &[u8]) -> Option<Claims> {\n    let (body, signature) = token.rsplit_once('.')?;\n    (sign(body, key) == signature).then(|| Claims::parse(body))\n}\n\n/// Removes tokens whose time has run out.\npub fn remove_expired(tokens: &mut Vec<Claims>, now: u64) {\n    tokens.retain(|claims| claims.expires > now);\n}\n\npub struct Claims {\n    pub subject: String,\n    pub expires: u64,\n}\n",
    ),
    (
        "src/router.py",
        "class Router:\n    \"\"\"Finds the handler of a request path.\"\"\"\n\n    def add_route(self, pattern, handler):\n        self.routes.append((pattern, handler))\n\n    def match_route(self, path):\n        for pattern, handler in self.routes:\n            if pattern.matches(path):\n                return handler\n        return None\n",
    ),
    (
        "tests/test_router.py",
        "from router import Router\n\n\ndef test_route_is_matched():\n    router = Router()\n    router.add_route('/a', 1)\n    assert router.match_route('/a') == 1\n",
    ),
    (
        "docs/guide.md",
        "# Guide\n\n## Install\n\nDownload the archive and unpack it into your home directory.\n\n## Backup of the database\n\nEvery night the database is dumped and copied to another machine.\n",
    ),
    (
        "src/colour.rs",
        "/// Mixes two colours in equal parts.\npub fn mix_colours(one: [u8; 3], other: [u8; 3]) -> [u8; 3] {\n    std::array::from_fn(|at| one[at].midpoint(other[at]))\n}\n",
    ),
];

/// Questions whose answers are compared between indexes.
pub(super) const QUERIES: [&str; 5] = [
    "verify the signature of a token",
    "match a path to its handler",
    "backup of the database",
    "mix_colours",
    "number 7",
];

/// A workspace, a data directory and a configuration.
pub(super) struct Sources(TempDir);

impl Sources {
    pub(super) fn empty() -> Self {
        let around = tempfile::tempdir().unwrap();
        for directory in ["workspace", "data"] {
            fs::create_dir(around.path().join(directory)).unwrap();
        }
        fs::write(around.path().join("c.toml"), "").unwrap();
        Self(around)
    }

    /// A few files in three languages.
    pub(super) fn sample() -> Self {
        let sources = Self::empty();
        for (path, content) in SAMPLE {
            sources.write(path, content);
        }
        sources
    }

    /// With so many files more that indexing takes a while.
    pub(super) fn many(files: usize) -> Self {
        let sources = Self::sample();
        for file in 0..files {
            sources.write(&format!("many/f{file}.rs"), numbered(file));
        }
        sources
    }

    /// A file of the workspace.
    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.0.path().join("workspace").join(path)
    }

    pub(super) fn around(&self) -> &Path {
        self.0.path()
    }

    pub(super) fn data(&self) -> PathBuf {
        self.0.path().join("data")
    }

    /// Another data directory, for an index of its own.
    pub(super) fn other_data(&self, name: &str) -> PathBuf {
        let data = self.0.path().join(name);
        fs::create_dir_all(&data).unwrap();
        data
    }

    /// The directory of the index of the workspace.
    pub(super) fn index(&self) -> PathBuf {
        let entries = fs::read_dir(self.data().join("search")).unwrap().map(|entry| entry.unwrap().path());
        let is_root = |path: &PathBuf| !path.file_name().unwrap().to_str().unwrap().starts_with("namespace-");
        let found: Vec<PathBuf> = entries.filter(is_root).collect();
        assert_eq!(found.len(), 1, "{found:?}");
        found[0].clone()
    }

    /// Files of the index with this extension.
    pub(super) fn index_files(&self, extension: &str) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.index()).unwrap().map(|entry| entry.unwrap().path());
        entries.filter(|path| path.extension().is_some_and(|found| found == extension)).collect()
    }

    pub(super) fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(super) fn remove(&self, path: &str) {
        fs::remove_file(self.path(path)).unwrap();
    }

    pub(super) fn rename(&self, from: &str, to: &str) {
        fs::create_dir_all(self.path(to).parent().unwrap()).unwrap();
        fs::rename(self.path(from), self.path(to)).unwrap();
    }

    /// Replaces the configuration file.
    pub(super) fn configure(&self, toml: &str) {
        fs::write(self.0.path().join("c.toml"), toml).unwrap();
    }

    /// Runs git as a person would, without the machine's configuration; it must succeed.
    pub(super) fn git(&self, args: &[&str]) -> String {
        let Output { status, stdout, stderr } = Command::new("git")
            .args(args)
            .current_dir(self.path(""))
            .envs([("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_NOSYSTEM", "1")])
            .envs([("GIT_AUTHOR_NAME", "A"), ("GIT_AUTHOR_EMAIL", "a@example.org")])
            .envs([("GIT_COMMITTER_NAME", "C"), ("GIT_COMMITTER_EMAIL", "c@example.org")])
            .output()
            .unwrap();
        assert!(status.success(), "{args:?}: {}", String::from_utf8_lossy(&stderr));
        String::from_utf8(stdout).unwrap().trim().to_owned()
    }

    pub(super) fn commit(&self) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", "change"]);
    }

    /// The program with the data directory, the workspace and the configuration.
    pub(super) fn command(&self, args: &[&str]) -> Command {
        self.command_with(Command::new(PROGRAM), args, &self.data())
    }

    /// The same, started by another program or on another data directory.
    pub(super) fn command_with(&self, mut command: Command, args: &[&str], data: &Path) -> Command {
        command.args(args).arg("--data-dir").arg(data).arg("--workspace").arg(self.path(""));
        command.arg("--config").arg(self.0.path().join("c.toml")).args(["--log", "warn,mainstay=info"]);
        command.env_remove("MAINSTAY_STORE").env("XDG_CONFIG_HOME", data).env("NO_PROXY", "*");
        command
    }

    /// Runs a command to its end: exit status, standard output, standard error.
    pub(super) fn run(&self, args: &[&str]) -> (i32, String, String) {
        finished(self.command(args))
    }

    pub(super) fn server(&self) -> Server {
        self.server_with(&[])
    }

    pub(super) fn server_with(&self, more: &[&str]) -> Server {
        Server::from(self.command(&[&["serve", "--listen", "127.0.0.1:0"], more].concat()))
    }

    pub(super) fn stdio(&self) -> Client {
        Client::start(self.command(&["stdio"]))
    }

    /// The answers to [`QUERIES`] by an index that nothing has disturbed.
    pub(super) fn undisturbed(&self) -> Vec<Vec<(String, f64)>> {
        let data = self.other_data("undisturbed");
        let server =
            Server::from(self.command_with(Command::new(PROGRAM), &["serve", "--listen", "127.0.0.1:0"], &data));
        let found = all_hits(&mut server.connect());
        drop(server);
        fs::remove_dir_all(data).unwrap();
        found
    }
}

/// Runs a command to its end: exit status, standard output, standard error.
pub(super) fn finished(mut command: Command) -> (i32, String, String) {
    let out = command.stdin(Stdio::null()).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (out.status.code().unwrap_or(-1), text(out.stdout), text(out.stderr))
}

/// A source file that differs from all others.
pub(super) fn numbered(file: usize) -> String {
    let function = |at: usize| {
        format!(
            "/// Computes number {at} of file {file} from its parts.\npub fn compute_{file}_{at}(parts: &[u64]) -> u64 {{\n    parts.iter().map(|part| part * {at} + {file}).sum()\n}}\n\n"
        )
    };
    (0..8).map(function).collect()
}

/// A client on standard input and output.
pub(super) struct Client {
    pub(super) server: StdioServer,
    next_id: u64,
    /// The notifications of the last call.
    pub(super) notifications: Vec<Value>,
}

impl Client {
    pub(super) fn start(command: Command) -> Self {
        let mut server = StdioServer::from(command, tempfile::tempdir().unwrap());
        assert!(server.ask(&initialize(0))["result"]["serverInfo"]["name"].is_string());
        server.write(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        Self { server, next_id: 0, notifications: Vec::new() }
    }

    /// Sends a call, and says under which id.
    pub(super) fn send(&mut self, tool: &str, args: &Value) -> u64 {
        self.next_id += 1;
        let call = json!({"jsonrpc": "2.0", "id": self.next_id, "method": "tools/call",
            "params": {"name": tool, "arguments": args, "_meta": {"progressToken": self.next_id}}});
        self.server.write(call.to_string().as_bytes());
        self.next_id
    }

    pub(super) fn call(&mut self, tool: &str, args: &Value) -> Value {
        let id = self.send(tool, args);
        self.notifications.clear();
        loop {
            let message = self.server.read().unwrap();
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
            self.notifications.push(message);
        }
    }
}

/// Whoever can call a tool.
pub(super) trait Caller {
    fn call_tool(&mut self, tool: &str, args: &Value) -> Value;
}

impl Caller for Http {
    fn call_tool(&mut self, tool: &str, args: &Value) -> Value {
        self.call(tool, args)
    }
}

impl Caller for Client {
    fn call_tool(&mut self, tool: &str, args: &Value) -> Value {
        self.call(tool, args)
    }
}

/// The result of a call that succeeds.
pub(super) fn ok(caller: &mut impl Caller, tool: &str, args: &Value) -> Value {
    let answer = caller.call_tool(tool, args);
    assert!(answer["result"]["isError"] != true, "{tool} {args}: {answer}");
    assert!(answer["result"]["structuredContent"].is_object(), "{tool} {args}: {answer}");
    answer["result"]["structuredContent"].clone()
}

/// The kind and the text of a call that fails.
pub(super) fn failed(caller: &mut impl Caller, tool: &str, args: &Value) -> (String, String) {
    let answer = caller.call_tool(tool, args);
    assert_eq!(answer["result"]["isError"], true, "{tool} {args}: {answer}");
    let kind = answer["result"]["_meta"]["io.mainstay/error"]["kind"].as_str().unwrap_or_default().to_owned();
    (kind, answer["result"]["content"][0]["text"].as_str().unwrap().to_owned())
}

pub(super) fn search(caller: &mut impl Caller, query: &str) -> Vec<Value> {
    let found = ok(caller, "vector_search", &json!({"query": query, "top_k": 20}));
    found["matches"].as_array().unwrap().clone()
}

/// The paths of what a query finds, best first.
pub(super) fn paths(caller: &mut impl Caller, query: &str) -> Vec<String> {
    search(caller, query).iter().map(|one| one["metadata"]["path"].as_str().unwrap().to_owned()).collect()
}

/// Where a query leads first; empty if it finds nothing.
pub(super) fn best(caller: &mut impl Caller, query: &str) -> String {
    paths(caller, query).into_iter().next().unwrap_or_default()
}

/// Places and scores of all matches of all [`QUERIES`].
pub(super) fn all_hits(caller: &mut impl Caller) -> Vec<Vec<(String, f64)>> {
    let hit = |one: &Value| (one["id"].as_str().unwrap().to_owned(), one["score"].as_f64().unwrap());
    QUERIES.iter().map(|query| search(caller, query).iter().map(hit).collect()).collect()
}

/// One request of the dialect mira: the error's code, or 0 and the result.
pub(super) fn mira(http: &mut Http, method: &str, params: &Value) -> (i64, Value) {
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let answer = http.rpc("/rpc", &[], &request).message();
    match answer["error"]["code"].as_i64() {
        Some(code) => (code, answer["error"].clone()),
        None => (0, answer["result"].clone()),
    }
}
