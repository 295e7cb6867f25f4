//! The connections of the nodes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;

use super::{Fault, Ledger};

/// Longer than the tests' clients wait for an answer.
const SILENCE: Duration = Duration::from_secs(2);

/// A node of the chain.
pub(in super::super) struct LedgerNode {
    pub(in super::super) url: String,
    behind: Arc<AtomicU64>,
}

impl LedgerNode {
    /// From now on it knows the chain as it was so many blocks ago.
    pub(in super::super) fn set_behind(&self, blocks: u64) {
        self.behind.store(blocks, Ordering::SeqCst);
    }
}

/// What goes over the connection.
enum Response {
    Full { head: String, body: String },
    Truncated(String),
    Silence,
    Close,
}

impl Ledger {
    pub(in super::super) async fn node(self: &Arc<Self>) -> LedgerNode {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let behind: Arc<AtomicU64> = Arc::default();
        let (ledger, blocks) = (self.clone(), behind.clone());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, ledger.clone(), blocks.clone()));
            }
        });
        LedgerNode { url, behind }
    }

    fn respond(&self, request: &Value, behind: u64) -> Response {
        let fault = self.next_fault(request);
        let behind = if let Some(Fault::Behind { blocks }) = fault { behind + blocks } else { behind };
        let answered = || {
            let mut body = self.answered(request, behind, fault);
            body["jsonrpc"] = "2.0".into();
            body["id"] = request["id"].clone();
            body.to_string()
        };
        match fault {
            Some(Fault::Status { status, retry_after, taken }) => {
                if taken {
                    answered();
                }
                let rest = retry_after.map(|seconds| format!("retry-after: {seconds}\r\n")).unwrap_or_default();
                Response::Full { head: format!("{status} Failed\r\n{rest}"), body: "<html>failed</html>".to_owned() }
            }
            Some(Fault::Error { code, message }) => {
                let error = json!({"code": code, "message": message});
                let body = json!({"jsonrpc": "2.0", "id": request["id"], "error": error});
                Response::Full { head: "200 OK\r\n".to_owned(), body: body.to_string() }
            }
            Some(Fault::Closed { taken } | Fault::Silent { taken }) => {
                if taken {
                    answered();
                }
                if matches!(fault, Some(Fault::Silent { .. })) { Response::Silence } else { Response::Close }
            }
            Some(Fault::Truncated) => Response::Truncated(answered()),
            Some(Fault::Dropped | Fault::Later { .. } | Fault::Behind { .. }) | None => {
                Response::Full { head: "200 OK\r\n".to_owned(), body: answered() }
            }
        }
    }

    fn next_fault(&self, request: &Value) -> Option<Fault> {
        let method = request["method"].as_str().unwrap();
        let mut state = self.state.lock();
        *state.requests.entry(method.to_owned()).or_default() += 1;
        let told = state.faults.get_mut(method).and_then(std::collections::VecDeque::pop_front);
        let random = || match (state.random.as_mut(), method) {
            (Some(faults), "sendTransaction") => faults.of_send(),
            (Some(faults), _) => faults.of_read(),
            (None, _) => None,
        };
        told.or_else(random)
    }
}

/// Answers the requests of one connection, which all have a length.
async fn serve(mut stream: TcpStream, ledger: Arc<Ledger>, behind: Arc<AtomicU64>) {
    let mut received = Vec::new();
    loop {
        let head = loop {
            if let Some(end) = received.windows(4).position(|four| four == b"\r\n\r\n") {
                break end + 4;
            }
            match stream.read_buf(&mut received).await {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
        };
        let headers = String::from_utf8_lossy(&received[..head]).to_ascii_lowercase();
        let length = headers.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
        let end = head + length.trim().parse::<usize>().unwrap();
        while received.len() < end {
            match stream.read_buf(&mut received).await {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
        }
        let request: Value = serde_json::from_slice(&received[head..end]).unwrap();
        received.drain(..end);
        let (head, body, is_whole) = match ledger.respond(&request, behind.load(Ordering::SeqCst)) {
            Response::Full { head, body } => (head, body, true),
            Response::Truncated(body) => ("200 OK\r\n".to_owned(), body, false),
            Response::Silence => return sleep(SILENCE).await,
            Response::Close => return,
        };
        let sent = if is_whole { &body[..] } else { &body[..body.len() / 2] };
        let length = body.len();
        let response =
            format!("HTTP/1.1 {head}content-type: application/json\r\ncontent-length: {length}\r\n\r\n{sent}");
        if stream.write_all(response.as_bytes()).await.is_err() || !is_whole {
            return;
        }
    }
}
