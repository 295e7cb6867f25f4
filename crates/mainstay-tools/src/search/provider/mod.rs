//! Embedding models behind HTTP, in the format of OpenAI's `/v1/embeddings`, which most providers and local servers
//! speak (`vLLM`, `Ollama`, `llama.cpp`, Text Embeddings Inference).
//!
//! An [`Embedder`](mainstay_search::embedding::Embedder) is synchronous and the HTTP client is not. The embedder has a
//! runtime of its own for its requests, with one thread that is started with the first of them, and the calling thread
//! waits for a channel. The server's runtime would do less well: `Handle::block_on` panics on a thread of the runtime, and
//! on a runtime of one thread it waits for ever if that thread waits for the embedder in turn. With a runtime of its own
//! a call ends within its deadline whatever the caller's thread is, be it one of rayon's, of a test, or the only one of a
//! runtime.

mod address;
mod api_key;
mod breaker;
mod embedder;
mod protocol;
mod response;
mod retry_after;
mod service;
mod settings;
#[cfg(test)]
mod tests;

pub(super) use embedder::HttpEmbedder;
pub use settings::EmbeddingProvider;
