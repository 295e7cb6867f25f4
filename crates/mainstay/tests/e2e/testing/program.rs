//! The program under test, and minimal HTTP and stdio clients for it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::PROGRAM;

const TIMEOUT: Duration = Duration::from_secs(30);

pub(crate) fn command(data: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    let data = data.to_str().unwrap();
    command.args(args).args(["--data-dir", data, "--workspace", workspace(), "--log", "warn,mainstay=info"]);
    command.env_remove("MAINSTAY_STORE").env_remove("MAINSTAY_CONFIG").env("XDG_CONFIG_HOME", data);
    command.env_remove("CONTEXT_CACHE_ROOT").env_remove("CONTEXT_TOOL_TIMEOUT_SECS");
    command
}

/// An empty directory. The server refuses to work where it keeps its own files, and most tests leave files alone.
pub(crate) fn workspace() -> &'static str {
    const WORKSPACE: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/workspace");
    std::fs::create_dir_all(WORKSPACE).unwrap();
    WORKSPACE
}

/// Runs a command to its end: exit status, standard output, standard error.
pub(crate) fn run(data: &Path, args: &[&str]) -> (i32, String, String) {
    let out = command(data, args).stdin(Stdio::null()).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (out.status.code().unwrap_or(-1), text(out.stdout), text(out.stderr))
}

/// Waits for something that happens soon, on a slow machine too.
pub(crate) fn wait_until(happened: impl Fn() -> bool) {
    let patience = std::time::Instant::now() + TIMEOUT;
    while !happened() {
        assert!(std::time::Instant::now() < patience, "it did not happen");
        std::thread::sleep(Duration::from_millis(1));
    }
}

pub(crate) struct Server {
    child: Mutex<Child>,
    log: Arc<Mutex<String>>,
    pub(crate) address: SocketAddr,
}

impl Server {
    pub(crate) fn start(data: &Path, more: &[&str]) -> Self {
        let mut args = vec!["serve", "--listen", "127.0.0.1:0"];
        args.extend(more);
        Self::from(command(data, &args))
    }

    pub(crate) fn from(mut command: Command) -> Self {
        let mut child = command.stderr(Stdio::piped()).stdin(Stdio::null()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap());
        let mut seen = String::new();
        let address = loop {
            let mut line = String::new();
            assert!(lines.read_line(&mut line).unwrap() > 0, "the server did not start: {seen}");
            if let Some((_, rest)) = line.split_once("listening on http://") {
                break rest.split('/').next().unwrap().parse().unwrap();
            }
            seen.push_str(&line);
        };
        // Whoever stops reading a program's log stops the program.
        let log = Arc::new(Mutex::new(seen));
        let written = log.clone();
        std::thread::spawn(move || {
            let mut line = Vec::new();
            while lines.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
                written.lock().unwrap().push_str(&String::from_utf8_lossy(&line));
                line.clear();
            }
        });
        Self { child: Mutex::new(child), log, address }
    }

    /// What the server has logged so far.
    pub(crate) fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    /// As the kernel does it: no handler runs and nothing is flushed.
    pub(crate) fn kill(&self) {
        let mut child = self.child.lock().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// Asks it to stop, as a service manager does.
    pub(crate) fn terminate(&self) {
        let id = self.child.lock().unwrap().id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    }

    pub(crate) fn wait(&self) -> i32 {
        self.child.lock().unwrap().wait().unwrap().code().unwrap_or(-1)
    }

    pub(crate) fn connect(&self) -> Http {
        Http::connect(self.address)
    }

    pub(crate) fn call(&self, tool: &str, args: &Value) -> Value {
        self.connect().call(tool, args)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let child = self.child.get_mut().unwrap();
        let _ = child.kill();
        let _ = child.wait();
    }
}

pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// The data of each event of a stream.
    pub(crate) fn events(&self) -> Vec<Value> {
        let data = self.body.lines().filter_map(|line| line.strip_prefix("data: "));
        data.map(|data| serde_json::from_str(data).unwrap()).collect()
    }

    /// The JSON-RPC message, sent plainly or as the last event of a stream.
    pub(crate) fn message(&self) -> Value {
        let data = self
            .body
            .lines()
            .filter_map(|line| line.strip_prefix("data:"))
            .map(str::trim)
            .rfind(|data| !data.is_empty());
        serde_json::from_str(data.unwrap_or(&self.body))
            .unwrap_or_else(|error| panic!("{error}: {} {:?}", self.status, self.body))
    }
}

/// A keep-alive HTTP/1.1 connection on which every byte is ours.
pub(crate) struct Http {
    stream: BufReader<TcpStream>,
    address: SocketAddr,
    next_id: u64,
}

impl Http {
    pub(crate) fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream: BufReader::new(stream), address, next_id: 0 }
    }

    /// Sends exactly these headers (and a length) and this body.
    pub(crate) fn send(&mut self, line: &str, headers: &[(&str, &str)], body: &[u8]) -> std::io::Result<Reply> {
        let fields: String = headers.iter().map(|(name, value)| [name, ": ", value, "\r\n"].concat()).collect();
        let head = format!("{line} HTTP/1.1\r\n{fields}Content-Length: {}\r\n\r\n", body.len());
        let mut bytes = head.into_bytes();
        bytes.extend_from_slice(body);
        // A server that refuses early may stop reading; its answer is there all the same.
        let _ = self.stream.get_mut().write_all(&bytes);
        self.read()
    }

    fn read(&mut self) -> std::io::Result<Reply> {
        let mut line = String::new();
        if self.stream.read_line(&mut line)? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        let status = line.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or_default();
        let mut headers = Vec::new();
        loop {
            let mut line = String::new();
            if self.stream.read_line(&mut line)? == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
            let Some((name, value)) = line.trim_end().split_once(':') else { break };
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let mut reply = Reply { status, headers, body: String::new() };
        let body = match reply.header("content-length").map(|length| length.parse::<usize>().unwrap()) {
            Some(length) => {
                let mut body = vec![0; length];
                self.stream.read_exact(&mut body)?;
                body
            }
            None if reply.header("transfer-encoding").is_some() => self.read_chunks()?,
            None => Vec::new(),
        };
        reply.body = String::from_utf8_lossy(&body).into_owned();
        Ok(reply)
    }

    fn read_chunks(&mut self) -> std::io::Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let mut line = String::new();
            self.stream.read_line(&mut line)?;
            let size = usize::from_str_radix(line.trim(), 16).map_err(std::io::Error::other)?;
            let mut chunk = vec![0; size + 2];
            self.stream.read_exact(&mut chunk)?;
            if size == 0 {
                return Ok(body);
            }
            body.extend_from_slice(&chunk[..size]);
        }
    }

    pub(crate) fn host(&self) -> String {
        self.address.to_string()
    }

    /// A POST to /mcp as an ordinary client sends it, with more headers.
    pub(crate) fn post(&mut self, more: &[(&str, &str)], body: &[u8]) -> std::io::Result<Reply> {
        let host = self.host();
        let mut headers = vec![
            ("Host", host.as_str()),
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
        ];
        headers.extend(more);
        self.send("POST /mcp", &headers, body)
    }

    /// One message to a path that speaks mira, with more headers.
    pub(crate) fn rpc(&mut self, path: &str, more: &[(&str, &str)], message: &Value) -> Reply {
        let host = self.host();
        let mut headers = vec![("Host", host.as_str()), ("Content-Type", "application/json")];
        headers.extend(more);
        self.send(&format!("POST {path}"), &headers, message.to_string().as_bytes()).unwrap()
    }

    /// A stateless request of the newest protocol.
    pub(crate) fn request(&mut self, method: &str, params: Value, more: &[(&str, &str)]) -> std::io::Result<Reply> {
        self.next_id += 1;
        let name =
            params.get("name").or_else(|| params.get("uri")).and_then(Value::as_str).unwrap_or_default().to_owned();
        let body = stateless_request(self.next_id, method, params).to_string();
        let mut headers =
            vec![("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", method), ("Mcp-Name", name.as_str())];
        if name.is_empty() {
            headers.pop();
        }
        headers.extend(more);
        self.post(&headers, body.as_bytes())
    }

    pub(crate) fn call(&mut self, tool: &str, args: &Value) -> Value {
        let reply = self.request("tools/call", json!({"name": tool, "arguments": args}), &[]).unwrap();
        reply.message()
    }
}

/// A request with the metadata the newest protocol wants, from a client that can be asked.
pub(crate) fn stateless_request(id: u64, method: &str, mut params: Value) -> Value {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "0"},
    });
    let given = params.get("_meta").and_then(Value::as_object).cloned().unwrap_or_default();
    let mut all = meta.as_object().unwrap().clone();
    all.extend(given);
    params["_meta"] = Value::Object(all);
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

pub(crate) fn initialize(id: u64) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}}, "clientInfo": {"name": "test", "version": "0"}}})
}

/// The program on standard input and output.
pub(crate) struct StdioServer {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    _data: TempDir,
}

impl StdioServer {
    pub(crate) fn start() -> Self {
        Self::speaking("mcp")
    }

    pub(crate) fn speaking(dialect: &str) -> Self {
        let data = tempfile::tempdir().unwrap();
        let program = command(data.path(), &["stdio", "--dialect", dialect]);
        Self::from(program, data)
    }

    /// `data` goes when the program does.
    pub(crate) fn from(mut program: Command, data: TempDir) -> Self {
        let mut child = program.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, input, output, _data: data }
    }

    /// Started and greeted as the older protocol has it.
    pub(crate) fn initialized() -> Self {
        let mut stdio = Self::start();
        assert!(stdio.ask(&initialize(0))["result"]["serverInfo"]["name"].is_string());
        stdio.write(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        stdio
    }

    pub(crate) fn write(&mut self, line: &[u8]) {
        self.write_part(line);
        self.write_part(b"\n");
    }

    pub(crate) fn write_part(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().unwrap();
        input.write_all(bytes).unwrap();
        input.flush().unwrap();
    }

    pub(crate) fn read_text(&mut self) -> Option<String> {
        let mut line = String::new();
        (self.output.read_line(&mut line).unwrap() > 0).then_some(line)
    }

    pub(crate) fn read(&mut self) -> Option<Value> {
        self.read_text().map(|line| serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}")))
    }

    pub(crate) fn ask(&mut self, message: &Value) -> Value {
        self.write(message.to_string().as_bytes());
        self.read().unwrap()
    }

    pub(crate) fn terminate(&self) {
        self.signal("-TERM");
    }

    /// Nothing happens in it for so long, whatever it was about to do.
    pub(crate) fn pause(&self, time: Duration) {
        self.signal("-STOP");
        std::thread::sleep(time);
        self.signal("-CONT");
    }

    fn signal(&self, name: &str) {
        assert!(Command::new("kill").args([name, &self.child.id().to_string()]).status().unwrap().success());
    }

    /// Whether it holds this file or directory open.
    pub(crate) fn has_open(&self, path: &Path) -> bool {
        let open = std::fs::read_dir(format!("/proc/{}/fd", self.child.id())).unwrap();
        open.flatten().any(|handle| std::fs::read_link(handle.path()).is_ok_and(|target| target == path))
    }

    /// The most memory it has had so far, in bytes.
    pub(crate) fn peak_memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap() * 1024
    }

    pub(crate) fn end_input(&mut self) {
        self.input = None;
    }

    pub(crate) fn wait(&mut self) -> i32 {
        self.child.wait().unwrap().code().unwrap_or(-1)
    }
}

impl Drop for StdioServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
