//! A stub of a node: it answers each method with what the test has told it.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

#[derive(Default)]
struct StubState {
    /// The member `result` or `error` of the response, by method.
    answers: HashMap<String, Value>,
    params: HashMap<String, Value>,
    requests: usize,
}

pub(super) struct StubNode {
    pub(super) url: String,
    told: Arc<Mutex<StubState>>,
}

impl StubNode {
    pub(super) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let told: Arc<Mutex<StubState>> = Arc::default();
        let shared = told.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, shared.clone()));
            }
        });
        Self { url, told }
    }

    pub(super) fn answer(&self, method: &str, result: impl Into<Value>) {
        let result: Value = result.into();
        self.told.lock().answers.insert(method.to_owned(), json!({ "result": result }));
    }

    pub(super) fn fail(&self, method: &str, code: i64, message: &str) {
        let error = json!({"error": {"code": code, "message": message}});
        self.told.lock().answers.insert(method.to_owned(), error);
    }

    /// The params of the last request of a method.
    pub(super) fn params(&self, method: &str) -> Value {
        self.told.lock().params.get(method).cloned().unwrap_or_default()
    }

    pub(super) fn requests(&self) -> usize {
        self.told.lock().requests
    }
}

/// Answers the requests of one connection, which all have a length.
async fn serve(mut stream: TcpStream, told: Arc<Mutex<StubState>>) {
    let mut received = Vec::new();
    loop {
        let head = loop {
            if let Some(end) = received.windows(4).position(|four| four == b"\r\n\r\n") {
                break end + 4;
            }
            if stream.read_buf(&mut received).await.is_ok_and(|count| count == 0) {
                return;
            }
        };
        let headers = String::from_utf8_lossy(&received[..head]).to_ascii_lowercase();
        let length = headers.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
        let end = head + length.trim().parse::<usize>().unwrap();
        while received.len() < end {
            stream.read_buf(&mut received).await.unwrap();
        }
        let request: Value = serde_json::from_slice(&received[head..end]).unwrap();
        received.drain(..end);
        let body = respond(&request, &mut told.lock()).to_string();
        let response = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        if stream.write_all(response.as_bytes()).await.is_err() {
            return;
        }
    }
}

fn respond(request: &Value, told: &mut StubState) -> Value {
    let method = request["method"].as_str().unwrap();
    told.requests += 1;
    told.params.insert(method.to_owned(), request["params"].clone());
    let unknown = || json!({"error": {"code": -32601, "message": "Method not found"}});
    let mut response = told.answers.get(method).cloned().unwrap_or_else(unknown);
    response["jsonrpc"] = json!("2.0");
    response["id"] = request["id"].clone();
    response
}
