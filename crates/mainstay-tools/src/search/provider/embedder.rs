//! A provider as an embedder.

use std::fmt;
use std::sync::{Arc, OnceLock, mpsc};

use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use mainstay_core::Result as Checked;
use mainstay_search::embedding::{EmbedError, Embedder, Parts, StaticModel, built_in};
use tokio::runtime::{Builder, Runtime};

use super::protocol;
use super::service::{Purpose, Service};
use super::settings::EmbeddingProvider;

/// Part of the id: texts that are put together in another way have other vectors.
const ENCODER: &str = "http1";

/// The few threads on which names of hosts are looked up.
const LOOKUP_THREADS: usize = 2;

/// Embeds texts with the model of a provider. Its vectors are the provider's; the tokens that are compared one by one
/// when results are ranked are those of the built-in model, which the weights of the ranking were fitted with.
///
/// Calls block until the vectors are there, each request at most for its deadline: they belong on threads that may block.
pub(crate) struct HttpEmbedder {
    id: String,
    service: Arc<Service>,
    batch: usize,
    concurrent: usize,
    tokens: Option<&'static StaticModel>,
    /// Its own, for the reasons that the module gives. Started with the first request.
    runtime: OnceLock<Result<Runtime, String>>,
}

/// Without the key and the URL.
impl fmt::Debug for HttpEmbedder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("HttpEmbedder")
            .field("host", &self.service.host())
            .field("model", &self.service.model())
            .field("dimensions", &self.service.dimensions)
            .finish_non_exhaustive()
    }
}

impl HttpEmbedder {
    /// Checks the settings and reads the key. Nothing is sent before the first text.
    pub(crate) fn new(settings: &EmbeddingProvider) -> Checked<Self> {
        let service = Service::new(settings)?;
        let tokens = built_in().ok();
        // Not the URL: servers that share a store may reach one model at different addresses.
        let token_id = tokens.map_or("", Embedder::id);
        let id = format!("{ENCODER}-{}-{}-{token_id}", settings.model, settings.dimensions);
        Ok(Self {
            id,
            service: Arc::new(service),
            batch: settings.batch,
            concurrent: settings.concurrent,
            tokens,
            runtime: OnceLock::new(),
        })
    }

    /// The runtime, started if this is the first request.
    fn runtime(&self) -> Result<&Runtime, EmbedError> {
        let start = || {
            let mut builder = Builder::new_multi_thread();
            builder.worker_threads(1).max_blocking_threads(LOOKUP_THREADS).thread_name("embedding").enable_all();
            builder.build().map_err(|error| format!("no thread can be started: {error}"))
        };
        let runtime = self.runtime.get_or_init(start).as_ref();
        runtime.map_err(|reason| EmbedError::Unavailable { reason: reason.clone(), retry_after: None })
    }

    /// The vectors of texts that are not empty, one after the other. The first failure ends all requests of the call.
    fn request(&self, texts: &[String], purpose: Purpose) -> Result<Vec<f32>, EmbedError> {
        let batches: Vec<Vec<String>> = texts.chunks(self.batch).map(<[String]>::to_vec).collect();
        let (service, concurrent) = (Arc::clone(&self.service), self.concurrent);
        let (sender, receiver) = mpsc::sync_channel(1);
        self.runtime()?.spawn(async move {
            let requests = stream::iter(batches).map(|batch| {
                let service = Arc::clone(&service);
                async move { service.embed(&batch, purpose).await }
            });
            // In the order of the texts, whichever request is answered first.
            let vectors = requests.buffered(concurrent).try_concat().await;
            // Nobody is left to receive it only if the calling thread has panicked.
            let _ = sender.send(vectors);
        });
        let lost = || EmbedError::Unavailable { reason: "the request was given up".to_owned(), retry_after: None };
        receiver.recv().unwrap_or_else(|_| Err(lost()))
    }

    /// Replaces `out` with the vectors of all texts.
    fn embed(&self, texts: Vec<String>, purpose: Purpose, out: &mut Vec<f32>) -> Result<(), EmbedError> {
        let dimensions = self.service.dimensions;
        out.clear();
        out.resize(texts.len() * dimensions, 0.0);
        // Services reject an empty text. Nothing is like it, so that its vector is of length 0.
        let rows = out.chunks_exact_mut(dimensions).zip(texts).filter(|(_, text)| !text.is_empty());
        let (rows, texts): (Vec<&mut [f32]>, Vec<String>) = rows.unzip();
        if texts.is_empty() {
            return Ok(());
        }
        let vectors = self.request(&texts, purpose)?;
        for (row, vector) in rows.into_iter().zip(vectors.chunks_exact(dimensions)) {
            row.copy_from_slice(vector);
        }
        Ok(())
    }
}

impl Embedder for HttpEmbedder {
    fn dimensions(&self) -> usize {
        self.service.dimensions
    }

    fn id(&self) -> &str {
        &self.id
    }

    fn embed_batch(&self, texts: &[Parts<'_>], out: &mut Vec<f32>) -> Result<(), EmbedError> {
        self.embed(texts.iter().map(|parts| protocol::text(parts)).collect(), Purpose::Documents, out)
    }

    fn embed_query(&self, text: &str, out: &mut Vec<f32>) -> Result<(), EmbedError> {
        self.embed(vec![protocol::text(&[text])], Purpose::Query, out)
    }

    fn token_model(&self) -> Option<&StaticModel> {
        self.tokens
    }
}

impl Drop for HttpEmbedder {
    fn drop(&mut self) {
        // A runtime that is dropped waits for its threads, which panics on a thread of another runtime. No call is under
        // way, since each holds a reference to this.
        if let Some(Ok(runtime)) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
