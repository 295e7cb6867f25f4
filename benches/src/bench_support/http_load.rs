//! Load over HTTP: every connection keeps exactly one call in flight, and one thread drives them all, because the generator
//! lives on the same few cores as the server it measures.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::bench_support::http_reply;
use crate::bench_support::sample::{Latencies, Window};

/// A server that has not answered by then is broken, however slow the machine.
const TIMEOUT: Duration = Duration::from_secs(20);

/// What one connection asks for again and again, and how its replies are checked.
pub(crate) trait Request: Send + 'static {
    /// The whole HTTP request of the call with this id.
    fn with(&mut self, id: u64) -> &[u8];

    /// A wrong answer ends the benchmark: figures for anything but the call mean nothing.
    fn check(&self, body: &[u8], id: u64) -> Result<()>;
}

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

    pub(crate) async fn call(&mut self, request: &mut impl Request, id: u64) -> Result<()> {
        let length = self.exchange(request.with(id)).await?;
        self.input.drain(..length.whole);
        request.check(&self.body, id)
    }

    /// Sends a request and returns a header of its reply.
    pub(crate) async fn header_of_reply(&mut self, request: &str, name: &str) -> Result<Option<String>> {
        let length = self.exchange(request.as_bytes()).await?;
        let value = http_reply::header(&self.input[..length.head], name.as_bytes());
        let value = value.map(|value| std::str::from_utf8(value).map(str::to_owned)).transpose()?;
        self.input.drain(..length.whole);
        Ok(value)
    }

    async fn exchange(&mut self, request: &[u8]) -> Result<ReplyLength> {
        self.stream.write_all(request).await?;
        loop {
            if let Some(reply) = http_reply::read(&self.input, &mut self.body)? {
                if !(200..300).contains(&reply.status) {
                    let body = String::from_utf8_lossy(&self.body);
                    bail!("HTTP status {}: {body}", reply.status);
                }
                return Ok(ReplyLength { head: reply.head_length, whole: reply.length });
            }
            if self.stream.read_buf(&mut self.input).await? == 0 {
                bail!("the server closed the connection in the middle of a reply");
            }
        }
    }
}

/// Bytes of the input that a reply takes up.
struct ReplyLength {
    head: usize,
    whole: usize,
}

/// Ids are drawn from one counter, so that no session sees an id twice.
pub(crate) type Ids = Arc<AtomicU64>;

/// Drives one connection for each of `requests` until the window ends, and returns how long each counted call took.
pub(crate) async fn drive<R: Request>(port: u16, requests: Vec<R>, ids: &Ids, window: Window) -> Result<Latencies> {
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
    mut request: impl Request,
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
