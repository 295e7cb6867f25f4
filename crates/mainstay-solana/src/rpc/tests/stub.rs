//! A node that answers as a test tells it, also in ways that no HTTP library would.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// What the stub does with a request.
#[derive(Debug, Clone)]
pub(super) enum Reply {
    Result(Value),
    /// The result as it is written, byte by byte.
    Text(String),
    Error(Value),
    /// A result under the id of another request.
    OtherId(Value),
    Http {
        status: u16,
        headers: &'static str,
        body: String,
    },
    /// A body without a length, which ends with the connection.
    Unbounded {
        bytes: usize,
    },
    /// Half of the announced body, and the end of the connection.
    Cut,
    /// The end of the connection instead of a response.
    Close,
    /// A result, and the end of the connection without an announcement.
    ThenClose(Value),
    /// No response at all.
    Silence,
    After(Duration, Box<Reply>),
}

type Script = Arc<dyn Fn(usize, &Value) -> Reply + Send + Sync>;

/// A running stub; dropped, it closes its port.
pub(super) struct Stub {
    pub(super) url: String,
    requests: Arc<Mutex<Vec<Value>>>,
    task: JoinHandle<()>,
}

impl Stub {
    /// Starts a node that answers by this function of the number of the request, from 0, and the request.
    pub(super) async fn start(script: impl Fn(usize, &Value) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (script, seen): (Script, _) = (Arc::new(script), Arc::clone(&requests));
        let task = tokio::spawn(async move {
            // Connections end with the stub.
            let mut connections = tokio::task::JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(serve(stream, Arc::clone(&script), Arc::clone(&seen)));
            }
        });
        Self { url, requests, task }
    }

    /// Starts a node that answers everything the same way.
    pub(super) async fn always(reply: Reply) -> Self {
        Self::start(move |_, _| reply.clone()).await
    }

    pub(super) fn count(&self) -> usize {
        self.requests.lock().len()
    }

    /// The methods of the requests in their order.
    pub(super) fn methods(&self) -> Vec<String> {
        self.requests.lock().iter().map(|request| request["method"].as_str().unwrap().to_owned()).collect()
    }

    pub(super) fn requests(&self) -> Vec<Value> {
        self.requests.lock().clone()
    }
}

impl Drop for Stub {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A URL at which nothing listens.
pub(super) async fn closed_port() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

/// An account's result with the slot for which it is valid.
pub(super) fn at_slot(slot: u64, value: impl Into<Value>) -> Value {
    json!({"context": {"slot": slot, "apiVersion": "4.1.2"}, "value": value.into()})
}

async fn serve(mut stream: TcpStream, script: Script, requests: Arc<Mutex<Vec<Value>>>) {
    let mut buffer = Vec::new();
    while let Some(request) = read_request(&mut stream, &mut buffer).await {
        let number = {
            let mut requests = requests.lock();
            requests.push(request.clone());
            requests.len() - 1
        };
        let mut reply = script(number, &request);
        while let Reply::After(wait, next) = reply {
            tokio::time::sleep(wait).await;
            reply = *next;
        }
        let (response, stays_open) = response(reply, &request["id"]);
        if stream.write_all(&response).await.is_err() || !stays_open {
            return;
        }
    }
}

/// Reads a request with a content length, which is all that the client sends.
async fn read_request(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<Value> {
    loop {
        let text = String::from_utf8_lossy(buffer).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let lower = head.to_ascii_lowercase();
            let length = lower.lines().find_map(|line| line.strip_prefix("content-length: "))?;
            let length: usize = length.trim().parse().ok()?;
            if body.len() >= length {
                let request = serde_json::from_str(&body[..length]).unwrap();
                buffer.drain(..head.len() + 4 + length);
                return Some(request);
            }
        }
        if stream.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    }
}

/// The bytes of a response, and whether the connection stays open after them.
fn response(reply: Reply, id: &Value) -> (Vec<u8>, bool) {
    let http = |status: u16, headers: &str, body: &str| {
        format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\n{headers}\r\n{body}", body.len()).into_bytes()
    };
    let ok = |body: String| http(200, "", &body);
    match reply {
        Reply::Result(result) => (ok(json!({"jsonrpc": "2.0", "result": result, "id": id}).to_string()), true),
        Reply::Text(result) => (ok(format!(r#"{{"jsonrpc":"2.0","result":{result},"id":{id}}}"#)), true),
        Reply::Error(error) => (ok(json!({"jsonrpc": "2.0", "error": error, "id": id}).to_string()), true),
        Reply::OtherId(result) => (ok(json!({"jsonrpc": "2.0", "result": result, "id": "other"}).to_string()), true),
        Reply::Http { status, headers, body } => (http(status, headers, &body), true),
        Reply::Unbounded { bytes } => (format!("HTTP/1.1 200 OK\r\n\r\n\"{}\"", "x".repeat(bytes)).into_bytes(), false),
        Reply::Cut => (b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"jsonrpc\":\"2.0\",".to_vec(), false),
        Reply::Close => (Vec::new(), false),
        Reply::ThenClose(result) => (ok(json!({"jsonrpc": "2.0", "result": result, "id": id}).to_string()), false),
        Reply::Silence | Reply::After(..) => (Vec::new(), true),
    }
}
