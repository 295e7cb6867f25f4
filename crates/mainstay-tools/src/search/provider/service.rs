//! Requests to a service: how many at a time, for how long, and when not at all.

use std::sync::OnceLock;
use std::time::Duration;

use mainstay_core::Result as Checked;
use mainstay_search::embedding::EmbedError;
use reqwest::Client;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use reqwest::redirect::Policy;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::address::Address;
use super::api_key::ApiKey;
use super::breaker::Breaker;
use super::settings::EmbeddingProvider;
use super::{protocol, response};

/// Idle connections are closed before the usual load balancer does it (60 s), which would lose the next request.
const IDLE: Duration = Duration::from_secs(45);

/// What vectors are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// A search, for which somebody waits.
    Query,
    /// An index.
    Documents,
}

/// A service with the state that all its requests share.
pub(super) struct Service {
    address: Address,
    key: Option<ApiKey>,
    model: String,
    pub(super) dimensions: usize,
    request_dimensions: bool,
    timeout: Duration,
    /// Made with the first request, since it reads the certificates of the system.
    client: OnceLock<Result<Client, String>>,
    breaker: Breaker,
    /// One permit for each request that may run.
    requests: Semaphore,
    /// Those that indexing may take: one less, so that a search does not wait behind a thousand documents.
    for_documents: Semaphore,
}

impl Service {
    /// Checks the settings and reads the key.
    pub(super) fn new(settings: &EmbeddingProvider) -> Checked<Self> {
        settings.check()?;
        // Before the key is read: a URL that must not have it is refused first.
        let address = Address::parse(&settings.url, settings.key_file.is_some(), settings.allow_http)?;
        let key = settings.key_file.as_deref().map(ApiKey::read).transpose()?;
        Ok(Self {
            address,
            key,
            model: settings.model.clone(),
            dimensions: settings.dimensions,
            request_dimensions: settings.request_dimensions,
            timeout: Duration::from_millis(settings.timeout_ms),
            client: OnceLock::new(),
            breaker: Breaker::new(),
            requests: Semaphore::new(settings.concurrent),
            for_documents: Semaphore::new(settings.concurrent.saturating_sub(1).max(1)),
        })
    }

    /// What messages call it: the URL may contain a key.
    pub(super) fn host(&self) -> &str {
        &self.address.host
    }

    pub(super) fn model(&self) -> &str {
        &self.model
    }

    /// The vectors of some texts, one after the other: one request, or two if the service asks for patience.
    pub(super) async fn embed(&self, texts: &[String], purpose: Purpose) -> Result<Vec<f32>, EmbedError> {
        // Before and after the wait: while a service hangs, nobody queues for it, and those in the queue leave it.
        self.breaker.check(Instant::now())?;
        let _permits = self.permits(purpose).await?;
        let admission = self.breaker.admit(Instant::now())?;
        let deadline = Instant::now() + self.timeout;
        let result = timeout_at(deadline, self.exchange(texts, deadline)).await.unwrap_or_else(|_| {
            let reason = format!("{} did not answer within {} ms", self.host(), self.timeout.as_millis());
            Err(EmbedError::Unavailable { reason, retry_after: None })
        });
        match &result {
            Err(EmbedError::Unavailable { reason, retry_after }) => {
                admission.failed(Instant::now(), reason, *retry_after);
            }
            Ok(_) | Err(EmbedError::Refused { .. } | EmbedError::Malformed { .. }) => admission.answered(),
        }
        result
    }

    /// Waits for its turn. A search waits no longer than for an answer; indexing has time, and each request before it
    /// ends by its deadline.
    async fn permits(
        &self,
        purpose: Purpose,
    ) -> Result<(Option<SemaphorePermit<'_>>, SemaphorePermit<'_>), EmbedError> {
        // Not a failure of the service, so that the breaker does not learn of it.
        let busy = || EmbedError::Unavailable {
            reason: format!("too many requests to {} are waiting", self.host()),
            retry_after: None,
        };
        match purpose {
            Purpose::Query => {
                let permit = timeout(self.timeout, self.requests.acquire()).await.map_err(|_| busy())?;
                Ok((None, permit.map_err(|_| busy())?))
            }
            Purpose::Documents => {
                let place = self.for_documents.acquire().await.map_err(|_| busy())?;
                Ok((Some(place), self.requests.acquire().await.map_err(|_| busy())?))
            }
        }
    }

    /// Sends the texts, and once more after the wait that the service asks for, if the deadline allows it.
    async fn exchange(&self, texts: &[String], deadline: Instant) -> Result<Vec<f32>, EmbedError> {
        let asked = self.request_dimensions.then_some(self.dimensions);
        let body = protocol::request(&self.model, texts, asked);
        match self.post(body.clone(), texts.len()).await {
            Err(EmbedError::Unavailable { retry_after: Some(wait), .. })
                if wait < deadline.saturating_duration_since(Instant::now()) =>
            {
                sleep(wait).await;
                self.post(body, texts.len()).await
            }
            other => other,
        }
    }

    /// One request, without a limit of time: the caller has one for both attempts.
    async fn post(&self, body: Vec<u8>, texts: usize) -> Result<Vec<f32>, EmbedError> {
        let client = self.client.get_or_init(|| self.build()).as_ref().map_err(|reason| self.unreachable(reason))?;
        let mut request = client
            .post(self.address.url.clone())
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json")
            .body(body);
        if let Some(key) = &self.key {
            request = request.header(AUTHORIZATION, key.header.clone());
        }
        let response = request.send().await.map_err(|error| self.unreachable(&innermost(&error)))?;
        let limit = protocol::max_response_bytes(texts, self.dimensions);
        let body = response::body(response, limit, self.host(), self.key.as_ref()).await?;
        protocol::vectors(&body, texts, self.dimensions)
    }

    /// HTTP/1.1 alone: the few requests at a time have a connection each, and one that stalls holds no other.
    fn build(&self) -> Result<Client, String> {
        let client = Client::builder()
            // Key and texts are for the host that was configured.
            .redirect(Policy::none())
            // Repeating a request is decided here alone.
            .retry(reqwest::retry::never())
            .connect_timeout(self.timeout)
            .pool_idle_timeout(IDLE)
            .http1_only();
        // A proxy of the environment is for the outside, and would see plain requests with their keys.
        let client = if self.address.is_private { client.no_proxy() } else { client };
        client.build().map_err(|error| format!("no HTTP client can be made: {}", innermost(&error)))
    }

    fn unreachable(&self, reason: &str) -> EmbedError {
        EmbedError::Unavailable { reason: format!("{} cannot be reached: {reason}", self.host()), retry_after: None }
    }
}

/// The innermost reason of an error says most ("connection refused"), and the outermost contains the URL.
fn innermost(error: &dyn std::error::Error) -> String {
    let sources = std::iter::successors(error.source(), |source| source.source());
    sources.last().map_or_else(|| "the request could not be sent".to_owned(), ToString::to_string)
}
