//! HTTP/2 on the same ports as HTTP/1.1, for clients that begin with its preface ("prior knowledge", RFC 9113 section
//! 3.3), and the limits that only HTTP/2 needs: a connection of HTTP/1.1 has one request, one body and one response at a
//! time, a connection of HTTP/2 has many.

mod response;

use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http2::Builder;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tokio::net::TcpStream;
use tokio::time::Instant;

use super::connection_limit::ConnectionLimit;
use crate::connection::{Activity, Serving};

pub(super) use response::Pieces;
use response::Unread;

/// Requests that one connection may have under way. Their calls share the connection's lane, and each takes a place among
/// the connections, so that many streams get no more of either than many connections.
pub(super) const STREAMS: u32 = 100;

/// All headers of a request together. Decoded headers are in memory for as long as their request is, on every stream.
const HEADER_BYTES: u32 = 16 * 1024;

/// What a client may send of one body before it is read, …
const STREAM_WINDOW: u32 = 128 * 1024;

/// … and of all bodies on a connection: about what the buffer of a connection of HTTP/1.1 may hold.
const CONNECTION_WINDOW: u32 = 512 * 1024;

/// Streams that the client has reset before they were looked at (CVE-2023-44487), or made the server reset
/// (CVE-2025-8671). A connection with more of them is closed.
const RESET_STREAMS: usize = 20;
const MISUSED_STREAMS: usize = 100;

/// How often a client is asked whether it is still there, and how long it may take to answer.
const PING_INTERVAL: Duration = Duration::from_secs(30);
const PING_TIMEOUT: Duration = Duration::from_secs(20);

/// The first bytes of the preface (RFC 9113 section 3.4). No method of HTTP/1.1 begins with them.
const PREFACE: &[u8; 3] = b"PRI";

/// When to look again for the rest of the first bytes.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// Whether a client begins to speak HTTP/2. Nothing is read: what HTTP/1.1 reads is what the client sent, from the same
/// socket, so that it costs one system call for each connection and nothing for a request.
pub(super) async fn is_begun(stream: &TcpStream) -> bool {
    let mut first = [0; PREFACE.len()];
    loop {
        // What is wrong with the socket is found again by whoever reads it.
        let Ok(length) = stream.peek(&mut first).await else { return false };
        if length == 0 || first[..length] != PREFACE[..length] {
            return false;
        }
        if length == PREFACE.len() {
            return true;
        }
        // The socket stays readable, so nothing wakes this task when the next byte comes.
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

pub(super) fn builder() -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS)
        .max_header_list_size(HEADER_BYTES)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_pending_accept_reset_streams(RESET_STREAMS)
        .max_local_error_reset_streams(MISUSED_STREAMS)
        .keep_alive_interval(PING_INTERVAL)
        .keep_alive_timeout(PING_TIMEOUT);
    builder
}

/// The streams of one connection. Cloning is cheap.
#[derive(Clone)]
pub(super) struct Streams {
    limit: ConnectionLimit,
    unread: Arc<Unread>,
}

/// All places are taken.
pub(super) struct NoPlace;

impl Streams {
    pub(super) fn new(limit: ConnectionLimit) -> Self {
        Self { limit, unread: Arc::default() }
    }

    /// A place for a request. The first of a connection uses the connection's own.
    pub(super) async fn admit(&self, request: &Serving) -> Result<Pieces, NoPlace> {
        let place = match request.others {
            0 => None,
            _ => Some(self.limit.take_for_stream().await.ok_or(NoPlace)?),
        };
        Ok(Pieces::new(self.unread.clone(), place))
    }

    /// Waits until the connection has had nothing to serve for the time `idle`, or the client has not read what was written
    /// for the time `stalled`; both are counted from now on. HTTP/2 stops writing before the socket does, so that a write
    /// does not time out.
    pub(super) async fn expired(&self, activity: &Activity, idle: Duration, stalled: Duration) {
        let begun = Instant::now();
        loop {
            let now = Instant::now();
            let idle_at = activity.idle_since().map(|since| since.max(begun) + idle);
            let stalled_at = self.unread.oldest().map(|since| since.max(begun) + stalled);
            // What begins from now on does not expire before that.
            let next = idle_at.into_iter().chain(stalled_at).min().unwrap_or(now + idle.min(stalled));
            if next <= now {
                return;
            }
            tokio::time::sleep_until(next).await;
        }
    }
}
