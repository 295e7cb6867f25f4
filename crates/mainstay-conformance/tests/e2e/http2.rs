//! HTTP/2 without TLS, on the port that HTTP/1.1 is on.

use std::time::Duration;

use bytes::Bytes;
use futures::future::join_all;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, HOST};
use http::{HeaderMap, HeaderName, Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::access::routes::{Issuer, auth_config};
use crate::consent::approval::{get, with_config};
use crate::testing::program::{Server, initialize, stateless_request};

/// Headers that belong to a connection of HTTP/1.1 and that HTTP/2 forbids (RFC 9113 section 8.2.2).
const HOP_BY_HOP: [&str; 5] = ["connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"];

/// One connection of HTTP/2. Clones send on the same one.
#[derive(Clone)]
struct Connection {
    sender: SendRequest<Full<Bytes>>,
    authority: String,
}

struct Reply {
    status: StatusCode,
    headers: HeaderMap,
    body: String,
}

impl Connection {
    async fn open(server: &Server) -> Self {
        let stream = TcpStream::connect(server.address).await.unwrap();
        let (sender, connection) = handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        Self { sender, authority: server.address.to_string() }
    }

    /// Sends exactly these headers; the body comes with the reply.
    async fn begin(
        &self,
        line: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> hyper::Result<http::Response<Incoming>> {
        let (method, path) = line.split_once(' ').unwrap();
        let mut request = Request::builder().method(method).uri(format!("http://{}{path}", self.authority));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let mut sender = self.sender.clone();
        sender.ready().await?;
        sender.send_request(request.body(Full::new(body.into())).unwrap()).await
    }

    async fn send(&self, line: &str, headers: &[(&str, &str)], body: impl Into<Bytes>) -> Reply {
        let (head, body) = self.begin(line, headers, body).await.unwrap().into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        Reply { status: head.status, headers: head.headers, body: String::from_utf8_lossy(&body).into_owned() }
    }

    async fn post(&self, path: &str, more: &[(&str, &str)], message: &Value) -> Reply {
        let mut headers =
            vec![(CONTENT_TYPE.as_str(), "application/json"), ("accept", "application/json, text/event-stream")];
        headers.extend(more);
        self.send(&format!("POST {path}"), &headers, message.to_string()).await
    }

    async fn call(&self, tool: &str, args: &Value) -> Reply {
        let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", tool)];
        let call = stateless_request(1, "tools/call", json!({"name": tool, "arguments": args}));
        self.post("/mcp", &headers, &call).await
    }
}

impl Reply {
    /// The message, also from a stream of events.
    fn message(&self) -> Value {
        let event = |line: &str| serde_json::from_str(line.strip_prefix("data:")?.trim()).ok();
        serde_json::from_str(&self.body)
            .ok()
            .or_else(|| self.body.lines().find_map(event))
            .unwrap_or_else(|| panic!("{} {}", self.status, self.body))
    }
}

fn start() -> (tempfile::TempDir, Server) {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    (data, server)
}

#[tokio::test]
async fn both_versions_of_http_are_spoken_on_one_port() {
    let (_data, server) = start();
    let http2 = Connection::open(&server).await;
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}});
    for path in ["/api/mcp", "/mcp"] {
        let greeted = http2.post(path, &[], &initialize(1)).await;
        assert_eq!(greeted.status, 200, "{path} {}", greeted.body);
        assert!(greeted.message()["result"]["serverInfo"]["name"].is_string(), "{path} {}", greeted.body);
        let session = greeted.headers.get("mcp-session-id").map(|id| id.to_str().unwrap().to_owned());
        let session: Vec<_> = session.as_deref().into_iter().map(|id| ("mcp-session-id", id)).collect();
        let listed = http2.post(path, &session, &list).await;
        assert!(!listed.message()["result"]["tools"].as_array().unwrap().is_empty(), "{path} {}", listed.body);
        for reply in [&greeted, &listed] {
            assert!(reply.headers.contains_key("x-request-id"), "{path} {:?}", reply.headers);
            for name in HOP_BY_HOP {
                let name = HeaderName::from_static(name);
                assert!(!reply.headers.contains_key(&name), "{path} {:?}", reply.headers);
            }
        }
    }
    assert_eq!(http2.send("GET /health", &[], "").await.status, 200);
    let mut http1 = server.connect();
    assert_eq!(get(&mut http1, "/health", &[]).status, 200);
    assert_eq!(http1.rpc("/api/mcp", &[], &list).status, 200);
    assert_eq!(http2.send("GET /nowhere", &[], "").await.status, 404);
    let websocket = http2.send("GET /ws", &[("sec-websocket-version", "13")], "").await;
    assert!(websocket.status.is_client_error(), "WebSockets need HTTP/1.1: {}", websocket.status);
    assert_eq!(http2.send("GET /health", &[], "").await.status, 200);
}

#[tokio::test]
async fn many_requests_are_served_on_one_connection_at_once() {
    let (_data, server) = start();
    let connection = Connection::open(&server).await;
    let begun = std::time::Instant::now();
    let calls = (0..50).map(|number| {
        let connection = &connection;
        async move {
            let reply = connection.call("probe_sleep", &json!({"ms": 400})).await;
            assert_eq!(reply.message()["result"]["isError"], false, "{number}: {}", reply.body);
        }
    });
    join_all(calls).await;
    // One after the other, they take 20 s.
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn a_long_response_arrives_whole_beside_short_ones() {
    const BYTES: usize = 3_000_000;
    let (_data, server) = start();
    let connection = Connection::open(&server).await;
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "probe/big", "params": {"bytes": BYTES}});
    let headers = [(CONTENT_TYPE.as_str(), "application/json")];
    let unread = connection.begin("POST /rpc", &headers, call.to_string()).await.unwrap();
    let length: usize = unread.headers()[CONTENT_LENGTH].to_str().unwrap().parse().unwrap();
    assert_eq!(connection.send("GET /health", &[], "").await.status, 200, "while the long one is not read");
    let body = unread.into_body().collect().await.unwrap().to_bytes();
    assert!(body.len() == length && length > BYTES, "{} of {length}", body.len());
    let message: Value = serde_json::from_slice(&body).unwrap();
    assert!(message["result"].is_object());
}

#[tokio::test]
async fn a_foreign_authority_is_rejected_as_a_foreign_host_is() {
    let (_data, server) = start();
    let port = server.address.port();
    let own = Connection::open(&server).await;
    for path in ["/mcp", "/api/mcp", "/health", "/metrics", "/ws"] {
        for authority in ["evil.example".to_owned(), format!("evil.example:{port}"), format!("localhost.:{port}")] {
            let foreign = Connection { authority: authority.clone(), ..own.clone() };
            let host = server.address.to_string();
            for headers in [vec![], vec![(HOST.as_str(), host.as_str())]] {
                let status = foreign.send(&format!("GET {path}"), &headers, "").await.status;
                assert_eq!(status, 403, "{path} {authority} {headers:?}");
            }
        }
        let other_host = own.send(&format!("GET {path}"), &[(HOST.as_str(), "evil.example")], "").await;
        assert_eq!(other_host.status, 403, "{path}");
        let origin = own.send(&format!("GET {path}"), &[("origin", "http://evil.example")], "").await;
        assert_eq!(origin.status, 403, "{path}");
    }
    // Without an authority: the URI is a path alone.
    let mut sender = own.sender.clone();
    let nameless = Request::get("/health").body(Full::new(Bytes::new())).unwrap();
    let refused = sender.send_request(nameless).await.map(|reply| reply.status());
    assert!(refused.is_err() || refused.as_ref().is_ok_and(|status| *status == 403), "{refused:?}");
    assert_eq!(own.send("GET /health", &[], "").await.status, 200);
}

#[tokio::test]
async fn tokens_are_checked_for_each_stream() {
    let (data, issuer) = (tempfile::tempdir().unwrap(), Issuer::new("a"));
    let config = auth_config(data.path(), &issuer, "");
    let server = Server::start(data.path(), &["--config", config.to_str().unwrap()]);
    let connection = Connection::open(&server).await;
    let token = format!("Bearer {}", issuer.token(&json!({"scope": "read"})));
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}});
    assert_eq!(connection.post("/rpc", &[("authorization", &token)], &list).await.status, 200);
    let stranger = connection.post("/rpc", &[], &list).await;
    assert_eq!(stranger.status, 401, "another stream of the same connection had a token: {}", stranger.body);
}

#[tokio::test]
async fn bodies_and_headers_are_limited_and_the_connection_stays_open() {
    let data = tempfile::tempdir().unwrap();
    let server = with_config(data.path(), "[server]\nmessage_bytes = 100000\n");
    let connection = Connection::open(&server).await;
    let long = format!("\"{}\"", "x".repeat(1_000_000));
    for path in ["/mcp", "/rpc"] {
        let headers = [(CONTENT_TYPE.as_str(), "application/json"), ("accept", "application/json, text/event-stream")];
        let refused = connection.send(&format!("POST {path}"), &headers, long.clone()).await;
        assert_eq!(refused.status, 413, "{path} {}", refused.body);
    }
    let headers = [("x-long", "x".repeat(20_000))];
    let headers = headers.each_ref().map(|(name, value)| (*name, value.as_str()));
    assert_eq!(connection.send("GET /health", &headers, "").await.status, 431);
    assert_eq!(connection.send("GET /health", &[], "").await.status, 200);
}

#[tokio::test]
async fn requests_on_one_connection_take_no_more_places_than_there_are() {
    let data = tempfile::tempdir().unwrap();
    let server = with_config(data.path(), "[server]\nconnections = 4\n");
    let connection = Connection::open(&server).await;
    let args = json!({"ms": 3000});
    let calls = (0..8).map(|_| connection.call("probe_sleep", &args));
    let statuses: Vec<u16> = join_all(calls).await.iter().map(|reply| reply.status.as_u16()).collect();
    // The connection itself has one, which its first request uses.
    let served = statuses.iter().filter(|status| **status == 200).count();
    let refused = statuses.iter().filter(|status| **status == 503).count();
    assert_eq!((served, refused), (4, 4), "{statuses:?}");
    assert_eq!(connection.send("GET /health", &[], "").await.status, 200, "places are free again");
}

#[tokio::test]
async fn a_client_that_resets_its_streams_at_once_is_disconnected() {
    // RFC 9113: the frames HEADERS (END_STREAM, END_HEADERS) and RST_STREAM (CANCEL) of one stream.
    fn request_and_reset(stream: u32, authority: &str) -> Vec<u8> {
        let mut block = vec![0x82, 0x86, 0x04, 7];
        block.extend(b"/health");
        block.extend([0x01, u8::try_from(authority.len()).unwrap()]);
        block.extend(authority.as_bytes());
        let frame = |kind: u8, flags: u8, payload: &[u8]| {
            let mut bytes = u32::try_from(payload.len()).unwrap().to_be_bytes()[1..].to_vec();
            bytes.extend([kind, flags]);
            bytes.extend(stream.to_be_bytes());
            bytes.extend(payload);
            bytes
        };
        [frame(1, 0x05, &block), frame(3, 0, &8_u32.to_be_bytes())].concat()
    }
    let (_data, server) = start();
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0".to_vec();
    let authority = server.address.to_string();
    for number in 0..1000 {
        bytes.extend(request_and_reset(2 * number + 1, &authority));
    }
    let _ = stream.write_all(&bytes).await;
    let mut said = Vec::new();
    let ended = tokio::time::timeout(Duration::from_secs(20), stream.read_to_end(&mut said)).await;
    assert!(ended.is_ok(), "the connection stays open");
    // GOAWAY with ENHANCE_YOUR_CALM, unless the connection was reset with it.
    let calm = said.windows(4).any(|window| window == 11_u32.to_be_bytes());
    assert!(calm || ended.is_ok_and(|read| read.is_err()), "{said:?}");
    assert_eq!(Connection::open(&server).await.send("GET /health", &[], "").await.status, 200);
}

#[tokio::test]
async fn a_preface_that_comes_in_parts_is_recognised() {
    let (_data, server) = start();
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.set_nodelay(true).unwrap();
    for part in ["P", "R", "I * HTTP/2.0\r\n\r\nSM\r\n\r\n"] {
        stream.write_all(part.as_bytes()).await.unwrap();
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    stream.write_all(b"\0\0\0\x04\0\0\0\0\0").await.unwrap();
    let mut frame = [0; 9];
    stream.read_exact(&mut frame).await.unwrap();
    assert_eq!(frame[3], 4, "the server's settings come first: {frame:?}");
    // So does a method of HTTP/1.1 that begins alike.
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let patch = format!("ATCH /health HTTP/1.1\r\nHost: {}\r\nContent-Length: 0\r\n\r\n", server.address);
    for part in ["P", patch.as_str()] {
        stream.write_all(part.as_bytes()).await.unwrap();
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let mut line = [0; 12];
    stream.read_exact(&mut line).await.unwrap();
    assert_eq!(&line, b"HTTP/1.1 405");
}

#[tokio::test]
async fn a_running_call_is_finished_before_the_server_stops() {
    let (_data, server) = start();
    let connection = Connection::open(&server).await;
    let stopping = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        server.terminate();
    };
    let args = json!({"ms": 800});
    let (reply, ()) = tokio::join!(connection.call("probe_sleep", &args), stopping);
    assert_eq!(reply.message()["result"]["isError"], false, "{}", reply.body);
    let begun = std::time::Instant::now();
    assert_eq!(tokio::task::spawn_blocking(move || server.wait()).await.unwrap(), 0);
    assert!(begun.elapsed() < Duration::from_secs(2), "an idle connection does not hold it: {:?}", begun.elapsed());
    assert!(connection.begin("GET /health", &[], "").await.is_err());
}

#[tokio::test]
async fn a_connection_without_requests_does_not_keep_the_server_from_stopping() {
    let (_data, server) = start();
    let connection = Connection::open(&server).await;
    assert_eq!(connection.send("GET /health", &[], "").await.status, 200);
    server.terminate();
    let begun = std::time::Instant::now();
    assert_eq!(tokio::task::spawn_blocking(move || server.wait()).await.unwrap(), 0);
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
}
