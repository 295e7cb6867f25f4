//! Embeddings: text as a vector whose direction is its meaning.
//!
//! The built-in model is static: each token of a vocabulary has a vector, and a text is the weighted sum of its tokens'.
//! That takes microseconds, so that a whole repository is embedded in seconds without an accelerator or a service. Another
//! static model can be loaded from a directory ([`load_model`]), and a model behind a service is an [`Embedder`] too: so
//! texts are embedded in batches, and embedding may fail.

mod built_in;
mod counts;
mod error;
mod load;
mod model;
mod safetensors;
mod sum;
#[cfg(test)]
mod tests;
mod vocabulary;

pub use built_in::built_in;
pub use counts::MAX_TOKENS;
pub use error::{EmbedError, ModelError, ModelFile};
pub use load::load_model;
pub use model::StaticModel;

/// The parts of one text, such as the name, the comment and the body of a function; read as one text, one after the
/// other. A part may be there twice, to count twice in a static model.
pub type Parts<'a> = &'a [&'a str];

/// Turns text into vectors. Texts and queries use the same model: vectors of two models cannot be compared.
///
/// The methods are synchronous and may take as long as the service behind a model does. They are called from threads
/// that may block, never from those of an asynchronous runtime.
pub trait Embedder: Send + Sync {
    /// How many numbers a vector has.
    fn dimensions(&self) -> usize;

    /// Names the model and its version. Vectors with another id are useless to this embedder, so an index stores it.
    fn id(&self) -> &str;

    /// Replaces `out` with the vectors of the texts, one after the other, each of [`dimensions`](Self::dimensions) numbers
    /// and of length 1; of length 0 where a text has nothing that the model knows. After an error, `out` is of no use.
    ///
    /// A batch is all chunks of a document. An implementation may divide it further.
    fn embed_batch(&self, texts: &[Parts<'_>], out: &mut Vec<f32>) -> Result<(), EmbedError>;

    /// Replaces `out` with the vector of a query. Somebody waits for it, which an implementation may take into account.
    fn embed_query(&self, text: &str, out: &mut Vec<f32>) -> Result<(), EmbedError> {
        self.embed_batch(&[&[text]], out)
    }

    /// The static model whose tokens are compared one by one when results are ranked; none if only whole vectors are.
    fn token_model(&self) -> Option<&StaticModel> {
        None
    }
}

/// The built-in model is used by reference.
impl<E: Embedder + ?Sized> Embedder for &E {
    fn dimensions(&self) -> usize {
        (**self).dimensions()
    }

    fn id(&self) -> &str {
        (**self).id()
    }

    fn embed_batch(&self, texts: &[Parts<'_>], out: &mut Vec<f32>) -> Result<(), EmbedError> {
        (**self).embed_batch(texts, out)
    }

    fn embed_query(&self, text: &str, out: &mut Vec<f32>) -> Result<(), EmbedError> {
        (**self).embed_query(text, out)
    }

    fn token_model(&self) -> Option<&StaticModel> {
        (**self).token_model()
    }
}
