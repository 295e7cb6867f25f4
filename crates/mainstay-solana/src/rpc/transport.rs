//! HTTP requests to nodes, with a limit on the time and the size of the response.

use std::sync::OnceLock;
use std::time::Duration;

use reqwest::header::{ACCEPT, CONTENT_TYPE};
use reqwest::redirect::Policy;
use reqwest::{Client, Response, StatusCode};

use super::address::NodeUrl;
use super::fault::Fault;
use super::retry::retry_after;

/// Connecting takes three round trips at most; a node that needs longer is down, and nothing has been sent to it yet.
const LONGEST_CONNECT: Duration = Duration::from_secs(5);

/// Idle connections are closed before the usual load balancer does it (60 s), which would lose the next request.
const IDLE: Duration = Duration::from_secs(45);

/// Sends requests to all nodes over shared connections.
pub(crate) struct Transport {
    /// For nodes on this machine. A proxy from the environment would look for them on its own machine.
    local: OnceLock<Result<Client, String>>,
    /// For all others.
    remote: OnceLock<Result<Client, String>>,
    timeout: Duration,
    max_response_bytes: usize,
}

impl Transport {
    pub(crate) fn new(timeout: Duration, max_response_bytes: usize) -> Self {
        Self { local: OnceLock::new(), remote: OnceLock::new(), timeout, max_response_bytes }
    }

    /// The HTTP client for a URL. It is made on first use, since it reads the certificates of the system.
    pub(crate) fn http(&self, url: &NodeUrl) -> Result<&Client, String> {
        let client = if url.is_loopback { &self.local } else { &self.remote };
        client.get_or_init(|| self.build(url.is_loopback)).as_ref().map_err(Clone::clone)
    }

    fn build(&self, is_local: bool) -> Result<Client, String> {
        let client = Client::builder()
            // An API key is for the host it was given for.
            .redirect(Policy::none())
            // Retries are decided in one place, and a send must never be one of them.
            .retry(reqwest::retry::never())
            .connect_timeout(LONGEST_CONNECT.min(self.timeout))
            .pool_idle_timeout(IDLE)
            .http1_only();
        let client = if is_local { client.no_proxy() } else { client };
        client.build().map_err(|error| format!("no HTTP client can be made: {}", innermost(&error)))
    }

    /// Sends a request and returns the status and body. Rate limits and failed gateways are faults; the caller reads the
    /// body of any other response, since providers send JSON-RPC errors with many a status.
    pub(super) async fn post(
        &self,
        url: &NodeUrl,
        body: Vec<u8>,
        limit: Duration,
    ) -> Result<(StatusCode, Vec<u8>), Fault> {
        let http = self.http(url).map_err(|reason| Fault::NotConnected { reason })?;
        let request = http
            .post(url.url.clone())
            .timeout(limit.min(self.timeout))
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json")
            .body(body);
        let response = request.send().await.map_err(|error| send_fault(&error))?;
        let status = response.status();
        match status.as_u16() {
            429 => Err(Fault::RateLimited { retry_after: retry_after(response.headers()) }),
            code @ (502..=504) => {
                Err(Fault::Unavailable { status: code, retry_after: retry_after(response.headers()) })
            }
            _ => Ok((status, self.read(response).await?)),
        }
    }

    /// Reads a body. One that announces more than the limit is not read at all.
    async fn read(&self, mut response: Response) -> Result<Vec<u8>, Fault> {
        let limit = self.max_response_bytes;
        let announced = response.content_length().unwrap_or_default();
        if announced > limit as u64 {
            return Err(Fault::TooLarge { limit });
        }
        let mut body = Vec::with_capacity(usize::try_from(announced).unwrap_or_default());
        while let Some(chunk) = response.chunk().await.map_err(|error| read_fault(&error))? {
            if body.len() + chunk.len() > limit {
                return Err(Fault::TooLarge { limit });
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }
}

/// A request without a response. Only what failed while connecting is sure not to have been sent.
fn send_fault(error: &reqwest::Error) -> Fault {
    if error.is_connect() || error.is_builder() {
        return Fault::NotConnected { reason: innermost(error) };
    }
    if error.is_timeout() {
        return Fault::TimedOut;
    }
    Fault::ConnectionLost { reason: innermost(error) }
}

/// A response that ends early.
fn read_fault(error: &reqwest::Error) -> Fault {
    if error.is_timeout() { Fault::TimedOut } else { Fault::Malformed { reason: "the body ends early" } }
}

/// The innermost reason of an error says most ("connection refused"), and the outermost contains the URL.
pub(crate) fn innermost(error: &dyn std::error::Error) -> String {
    let sources = std::iter::successors(error.source(), |source| source.source());
    sources.last().map_or_else(|| "the request could not be sent".to_owned(), ToString::to_string)
}
