//! Which embedding model is used for what.

use std::sync::{Arc, OnceLock};

use mainstay_core::{Error, Result};
use mainstay_search::embedding::{Embedder, built_in, load_model};

use super::provider::HttpEmbedder;
use super::settings::{ProviderUse, SearchSettings};

/// The models of a server.
#[derive(Clone)]
pub struct Embedders {
    /// For files.
    pub(super) workspace: LazyEmbedder,
    /// For documents of namespaces.
    pub(super) namespaces: LazyEmbedder,
}

/// A model that is loaded when it is first needed: the built-in one takes longer to load than a server to start.
#[derive(Clone)]
pub(super) struct LazyEmbedder(Arc<OnceLock<Arc<dyn Embedder>>>);

impl Embedders {
    /// Loads models that are configured, so that a wrong path or key is found at the start.
    pub fn new(settings: &SearchSettings) -> Result<Self> {
        let local = LazyEmbedder(Arc::default());
        if let Some(directory) = &settings.model_dir {
            let cannot =
                |error| Error::unavailable(format!("The model in {} cannot be used: {error}.", directory.display()));
            local.set(Arc::new(load_model(directory).map_err(cannot)?));
        }
        let Some(provider) = &settings.provider else {
            return Ok(Self { workspace: local.clone(), namespaces: local });
        };
        let remote = LazyEmbedder(Arc::default());
        remote.set(Arc::new(HttpEmbedder::new(provider)?));
        Ok(match settings.provider_for {
            ProviderUse::Namespaces => Self { workspace: local, namespaces: remote },
            ProviderUse::Everything => Self { workspace: remote.clone(), namespaces: remote },
        })
    }
}

impl LazyEmbedder {
    fn set(&self, embedder: Arc<dyn Embedder>) {
        let _ = self.0.set(embedder);
    }

    /// The model; the built-in one if no other was set.
    pub(super) fn get(&self) -> Result<&Arc<dyn Embedder>> {
        if self.0.get().is_none() {
            // The files of the model are part of the program, so this fails only if the program is damaged.
            self.set(Arc::new(built_in().map_err(Error::internal)?));
        }
        self.0.get().ok_or_else(|| Error::internal("no model"))
    }
}
