//! The static model.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::OnceLock;

use super::counts::{MAX_TOKENS, TokenCounts};
use super::safetensors::Header;
use super::sum::add_rows;
use super::vocabulary::Vocabulary;
use super::{EmbedError, Embedder, ModelError, Parts};
use crate::words::subwords;

/// Of a longer name only so many count.
const MAX_NAME_TOKENS: usize = 64;

/// Part of the id: another splitting, weighting or limit gives other vectors from the same files.
const ENCODER: &str = "static1";
const MAX_DIMENSIONS: usize = 4096;
/// Far beyond any trained weight, and far from what a sum of rows could overflow with.
const MAX_WEIGHT: f32 = 1e6;

/// A vocabulary with a vector for each token. The vector of a text is the sum of its distinct tokens' vectors, each times
/// `1 + ln` of how often it occurs, brought to length 1.
///
/// It comes from two files: `vocab.txt` and `model.safetensors`, which has `embeddings` (I8, tokens × dimensions) and
/// `weights` (F32, tokens), the scale of each row.
pub struct StaticModel {
    id: String,
    vocabulary: Vocabulary,
    weights: Vec<f32>,
    tensors: Cow<'static, [u8]>,
    embeddings: Range<usize>,
    dimensions: usize,
    /// `1 + ln n` for each possible count.
    frequency_weights: Vec<f32>,
    /// The length of each row of whole numbers, when it was first asked for.
    row_lengths: OnceLock<Vec<f32>>,
}

impl StaticModel {
    /// Reads a model from the content of its two files. Static content is not copied.
    pub fn from_bytes(
        tensors: impl Into<Cow<'static, [u8]>>,
        vocabulary: impl Into<Cow<'static, [u8]>>,
    ) -> Result<Self, ModelError> {
        let (tensors, vocabulary) = (tensors.into(), vocabulary.into());
        let id = id_of(&tensors, &vocabulary);
        Self::with_id(tensors, vocabulary, id)
    }

    pub(super) fn with_id(
        tensors: Cow<'static, [u8]>,
        vocabulary: Cow<'static, [u8]>,
        id: String,
    ) -> Result<Self, ModelError> {
        let vocabulary = Vocabulary::parse(vocabulary)?;
        let header = Header::parse(&tensors)?;
        let embeddings = header.tensor("embeddings", "I8", 1)?;
        let [rows, dimensions] = embeddings.shape[..] else {
            let problem = format!("tensor `embeddings`: shape {:?}, expected [tokens, dimensions]", embeddings.shape);
            return Err(ModelError::tensors(problem));
        };
        if !(1..=MAX_DIMENSIONS).contains(&dimensions) {
            let problem = format!("tensor `embeddings`: {dimensions} dimensions, expected 1 to {MAX_DIMENSIONS}");
            return Err(ModelError::tensors(problem));
        }
        if rows != vocabulary.len() {
            let problem = format!("{} tokens, but `embeddings` has {rows} rows", vocabulary.len());
            return Err(ModelError::vocabulary(problem));
        }
        let weights = read_weights(&header, &tensors, rows)?;
        Ok(Self {
            id,
            vocabulary,
            weights,
            embeddings: embeddings.bytes,
            tensors,
            dimensions,
            #[expect(clippy::cast_precision_loss, reason = "counts are at most 512")]
            frequency_weights: (0..=MAX_TOKENS).map(|count| 1.0 + (count.max(1) as f32).ln()).collect(),
            row_lengths: OnceLock::new(),
        })
    }

    /// The rows of a text's tokens, in order and with repetitions: what the vector is made of.
    pub fn tokens(&self, text: &str) -> Vec<u32> {
        let mut tokens = Vec::new();
        for word in subwords(text) {
            self.vocabulary.for_each_token(word.as_bytes(), |token| tokens.push(token));
            if tokens.len() >= MAX_TOKENS {
                break;
            }
        }
        tokens.truncate(MAX_TOKENS);
        tokens
    }

    /// The distinct tokens of the parts, read as one text, in the order in which they first occur.
    pub fn distinct_tokens(&self, parts: &[&str]) -> Vec<u32> {
        self.count_tokens(parts).distinct().map(|(token, _)| token).collect()
    }

    /// The same for a name, which has a few tokens: looking for each among those before it takes less time than a table.
    pub fn distinct_name_tokens(&self, name: &str) -> Vec<u32> {
        let mut tokens = Vec::new();
        for word in subwords(name) {
            self.vocabulary.for_each_token(word.as_bytes(), |token| {
                if tokens.len() < MAX_NAME_TOKENS && !tokens.contains(&token) {
                    tokens.push(token);
                }
            });
        }
        tokens
    }

    /// The rows of all tokens as signed bytes, one after the other, without their weights.
    pub(crate) fn rows(&self) -> &[u8] {
        self.tensors.get(self.embeddings.clone()).unwrap_or_default()
    }

    /// What a token's row is multiplied by.
    pub(crate) fn weight(&self, token: u32) -> f32 {
        self.weights.get(token as usize).copied().unwrap_or(0.0)
    }

    /// The lengths of all rows, without their weights.
    pub(crate) fn row_lengths(&self) -> &[f32] {
        self.row_lengths.get_or_init(|| {
            let square = |byte: &u8| i32::from(byte.cast_signed()).pow(2);
            #[expect(clippy::cast_precision_loss, reason = "a length has seven digits")]
            let length = |row: &[u8]| (row.iter().map(square).sum::<i32>() as f32).sqrt();
            self.rows().chunks_exact(self.dimensions).map(length).collect()
        })
    }

    /// Replaces `out` with the vector of a text; see [`embed_parts`](Self::embed_parts).
    pub fn embed(&self, text: &str, out: &mut Vec<f32>) {
        self.embed_parts(&[text], out);
    }

    /// Replaces `out` with the vector of the parts, read as one text. Its length is 1, or 0 when the parts have no token
    /// that the model knows. In contrast to [`Embedder::embed_batch`], nothing can fail here, and the types say so.
    pub fn embed_parts(&self, parts: Parts<'_>, out: &mut Vec<f32>) {
        out.clear();
        out.resize(self.dimensions, 0.0);
        self.add_vector(parts, out);
    }

    /// Replaces `out` with the vector of a definition. Its name counts twice: that is how the model was trained, and it is
    /// worth 4 points of NDCG@10 on function search.
    pub fn embed_definition(&self, name: &str, code: &str, out: &mut Vec<f32>) {
        self.embed_parts(&[name, name, code], out);
    }

    /// Writes the vector of the parts into `vector`, which has a zero for each dimension.
    fn add_vector(&self, parts: Parts<'_>, vector: &mut [f32]) {
        let counts = self.count_tokens(parts);
        let mut rows = [(0, 0.0); MAX_TOKENS];
        for (row, (token, count)) in rows.iter_mut().zip(counts.distinct()) {
            *row = (token, self.weights[token as usize] * self.frequency_weights[usize::from(count)]);
        }
        add_rows(&self.tensors[self.embeddings.clone()], &rows[..counts.len()], vector);
        // Length 1, so that a product of two vectors is their cosine and a long text does not win by its length.
        let norm = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
        if norm > 0.0 {
            for value in vector {
                *value /= norm;
            }
        }
    }

    fn count_tokens(&self, parts: &[&str]) -> TokenCounts {
        let mut counts = TokenCounts::new();
        for word in parts.iter().flat_map(|part| subwords(part)) {
            self.vocabulary.for_each_token(word.as_bytes(), |token| counts.add(token));
            if counts.is_full() {
                break;
            }
        }
        counts
    }
}

impl Embedder for StaticModel {
    fn dimensions(&self) -> usize {
        self.dimensions
    }

    fn id(&self) -> &str {
        &self.id
    }

    fn token_model(&self) -> Option<&StaticModel> {
        Some(self)
    }

    fn embed_batch(&self, texts: &[Parts<'_>], out: &mut Vec<f32>) -> Result<(), EmbedError> {
        out.clear();
        out.resize(texts.len() * self.dimensions, 0.0);
        // One allocation for the whole batch, into which each vector is summed up in place.
        for (vector, parts) in out.chunks_exact_mut(self.dimensions).zip(texts) {
            self.add_vector(parts, vector);
        }
        Ok(())
    }
}

fn read_weights(header: &Header, tensors: &[u8], rows: usize) -> Result<Vec<f32>, ModelError> {
    let wrong = |problem: String| ModelError::tensors(format!("tensor `weights`: {problem}"));
    let tensor = header.tensor("weights", "F32", 4)?;
    if tensor.shape != [rows] {
        return Err(wrong(format!("shape {:?}, expected [{rows}]", tensor.shape)));
    }
    let bytes = tensors.get(tensor.bytes).unwrap_or_default();
    let weights: Vec<f32> = bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
    match weights.iter().position(|weight| !weight.is_finite() || weight.abs() > MAX_WEIGHT) {
        Some(row) => Err(wrong(format!("row {row} is {}", weights[row]))),
        None => Ok(weights),
    }
}

fn id_of(tensors: &[u8], vocabulary: &[u8]) -> String {
    let mut hasher = blake3::Hasher::new();
    for file in [tensors, vocabulary] {
        // With lengths, bytes that move from the end of one file to the start of the other give another id.
        hasher.update(&(file.len() as u64).to_le_bytes());
        hasher.update(file);
    }
    format!("{ENCODER}-{}", &hasher.finalize().to_hex()[..32])
}
