//! The load on `/mcp`: every connection keeps exactly one call in flight, and one thread drives them all, because the
//! generator lives on the same few cores as the server it measures.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::bench_support::message::Numbered;
use crate::bench_support::sample::{Latencies, Window};
use crate::protocol::http_reply::{self, Reply};
use crate::protocol::message;

/// A server that has not answered by then is broken, however slow the machine.
const TIMEOUT: Duration = Duration::from_secs(20);

pub(crate) struct Connection {
    stream: TcpStream,
    input: Vec<u8>,
    body: Vec<u8>,
}

impl Connection {
    pub(crate) async fn open(port: u16) -> Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port)).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, input: Vec::with_capacity(16 * 1024), body: Vec::with_capacity(4 * 1024) })
    }

    pub(crate) async fn call(&mut self, request: &mut Numbered, id: u64) -> Result<()> {
        self.stream.write_all(request.with(id)).await?;
        let reply = self.reply().await?;
        self.input.drain(..reply.length);
        message::check_echo(&self.body, id)
    }

    /// Opens a session of the old era and returns its id.
    pub(crate) async fn open_session(&mut self, port: u16) -> Result<String> {
        self.stream.write_all(message::http_initialize(port).as_bytes()).await?;
        let reply = self.reply().await?;
        let head = &self.input[..reply.head_length];
        let session =
            http_reply::header(head, b"mcp-session-id").context("the answer to initialize names no session")?;
        let session = std::str::from_utf8(session)?.to_owned();
        self.input.drain(..reply.length);
        self.stream.write_all(message::http_initialized(port, &session).as_bytes()).await?;
        let reply = self.reply().await?;
        self.input.drain(..reply.length);
        Ok(session)
    }

    async fn reply(&mut self) -> Result<Reply> {
        loop {
            if let Some(reply) = http_reply::read(&self.input, &mut self.body)? {
                if !(200..300).contains(&reply.status) {
                    let body = String::from_utf8_lossy(&self.body);
                    bail!("HTTP status {}: {body}", reply.status);
                }
                return Ok(reply);
            }
            if self.stream.read_buf(&mut self.input).await? == 0 {
                bail!("the server closed the connection in the middle of a reply");
            }
        }
    }
}

/// Ids are drawn from one counter, so that no session sees an id twice.
pub(crate) type Ids = Arc<AtomicU64>;

/// Drives one connection for each of `requests` until the window ends, and returns how long each counted call took.
pub(crate) async fn drive(port: u16, requests: Vec<Numbered>, ids: &Ids, window: Window) -> Result<Latencies> {
    let mut connections = JoinSet::new();
    for request in requests {
        let connection = Connection::open(port).await?;
        connections.spawn(keep_calling(connection, request, Arc::clone(ids), window));
    }
    let mut latencies = Latencies::default();
    let all = async {
        while let Some(finished) = connections.join_next().await {
            latencies.extend(finished??);
        }
        anyhow::Ok(())
    };
    tokio::time::timeout_at((window.until + TIMEOUT).into(), all).await.context("a call was not answered")??;
    Ok(latencies)
}

async fn keep_calling(
    mut connection: Connection,
    mut request: Numbered,
    ids: Ids,
    window: Window,
) -> Result<Latencies> {
    let mut latencies = Latencies::with_room();
    let mut started = Instant::now();
    while started < window.until {
        let id = ids.fetch_add(1, Ordering::Relaxed);
        connection.call(&mut request, id).await?;
        let ended = Instant::now();
        if started >= window.from && ended <= window.until {
            latencies.record(ended - started);
        }
        started = ended;
    }
    Ok(latencies)
}
