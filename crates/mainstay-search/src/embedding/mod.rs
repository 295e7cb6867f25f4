//! Embeddings: text as a vector whose direction is its meaning.
//!
//! The model is static: each token of a vocabulary has a vector, and a text is the weighted sum of its tokens'. That takes
//! microseconds, so that a whole repository is embedded in seconds without an accelerator or a service.

mod built_in;
mod counts;
mod error;
mod model;
mod safetensors;
mod sum;
#[cfg(test)]
mod tests;
mod vocabulary;

pub use built_in::built_in;
pub use counts::MAX_TOKENS;
pub use error::{ModelError, ModelFile};
pub use model::StaticModel;

/// Turns text into vectors. Texts and queries use the same model: vectors of two models cannot be compared.
pub trait Embedder: Send + Sync {
    /// How many numbers a vector has.
    fn dimensions(&self) -> usize;

    /// Names the model and its version. Vectors with another id are useless to this embedder, so an index stores it.
    fn id(&self) -> &str;

    /// Replaces `out` with the vector of the parts, read as one text with a space between them. Its length is 1, or 0 when
    /// the parts have no token that the model knows.
    fn embed_parts(&self, parts: &[&str], out: &mut Vec<f32>);

    /// Replaces `out` with the vector of a text; see [`embed_parts`](Self::embed_parts).
    fn embed(&self, text: &str, out: &mut Vec<f32>) {
        self.embed_parts(&[text], out);
    }

    /// The static model whose tokens are compared one by one when results are ranked; none if only whole vectors are.
    fn token_model(&self) -> Option<&StaticModel> {
        None
    }

    /// Replaces `out` with the vector of a definition. Its name counts twice: that is how the model was trained, and it is
    /// worth 4 points of NDCG@10 on function search.
    fn embed_definition(&self, name: &str, code: &str, out: &mut Vec<f32>) {
        self.embed_parts(&[name, name, code], out);
    }
}
