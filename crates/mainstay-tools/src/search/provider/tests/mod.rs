//! The embedder against a service that answers well and in every other way.

mod failures;
mod requests;
mod stub;

use std::path::PathBuf;
use std::sync::Arc;

use mainstay_search::embedding::{EmbedError, Embedder, Parts};

use super::{EmbeddingProvider, HttpEmbedder};
use stub::Stub;

/// What no message may contain.
const KEY: &str = "sk-canary-0123456789";

fn settings(stub: &Stub) -> EmbeddingProvider {
    EmbeddingProvider {
        url: stub.url.clone(),
        model: "small".to_owned(),
        dimensions: 2,
        key_file: None,
        request_dimensions: false,
        allow_http: false,
        batch: 64,
        timeout_ms: 5_000,
        concurrent: 4,
    }
}

fn embedder(settings: &EmbeddingProvider) -> Arc<HttpEmbedder> {
    Arc::new(HttpEmbedder::new(settings).unwrap())
}

/// A file with the key, readable by its owner alone.
fn key_file(directory: &tempfile::TempDir) -> PathBuf {
    use std::os::unix::fs::PermissionsExt as _;
    let path = directory.path().join("key");
    std::fs::write(&path, format!("{KEY}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    path
}

/// Embeds texts on a blocking thread, as tools do.
async fn embed(embedder: &Arc<HttpEmbedder>, texts: &[&'static str]) -> Result<Vec<f32>, EmbedError> {
    let (embedder, texts) = (Arc::clone(embedder), texts.to_vec());
    let embedding = tokio::task::spawn_blocking(move || {
        let parts: Vec<[&str; 1]> = texts.iter().map(|text| [*text]).collect();
        let parts: Vec<Parts<'_>> = parts.iter().map(<[&str; 1]>::as_slice).collect();
        let mut out = vec![9.0; 3];
        embedder.embed_batch(&parts, &mut out).map(|()| out)
    });
    embedding.await.unwrap()
}

/// Embeds a query on a blocking thread.
async fn query(embedder: &Arc<HttpEmbedder>, text: &'static str) -> Result<Vec<f32>, EmbedError> {
    let embedder = Arc::clone(embedder);
    let embedding = tokio::task::spawn_blocking(move || {
        let mut out = Vec::new();
        embedder.embed_query(text, &mut out).map(|()| out)
    });
    embedding.await.unwrap()
}
