//! The documents of a namespace that could be the best for a query, found by PostgreSQL with pgvector.
//!
//! Words are weighted by how rare they are, as they are when documents are ranked: `ts_rank` does not know, and would
//! take any chunk with a common word for as good as the one with the rare word. Vectors are compared exactly, with those
//! of all chunks of the namespace: an index of pgvector is approximate, is for one number of dimensions, and filters by
//! namespace only afterwards. With 100,000 chunks of 256 dimensions in a namespace, the vector took 0.2 s, two rare words
//! 10 to 25 ms, a word that half of the chunks have 0.5 to 0.7 s, and five words with the vector 1.1 to 1.4 s, on two
//! cores that three times as much work shared (`examples/search_candidates.rs`).

use std::collections::{HashMap, HashSet};

use serde::Serialize;

use super::chunks::{self, comparable, lexeme};
use super::ids::to_json;
use super::{SearchCandidates, SearchDocuments, SearchNamespace, WordFrequency, changes, namespaces};
use crate::sql::{Conn, Engine, params};
use crate::{Result, StoreError};

/// Documents that are returned end with the one that exceeds this, so that a search cannot fill the memory.
const CANDIDATE_BYTES: u64 = 64 << 20;

// The vector of the query is in a query of its own, so that PostgreSQL parses it once and not for each row, which its
// plan for a statement that runs often would do. Rows of other dimensions, which cannot be compared, are left out
// before distances are computed.
const NEAREST: &str = "SELECT document FROM search_chunk WHERE namespace = $1 AND vector_dims(embedding) = $3 \
     ORDER BY embedding <=> (SELECT CAST($2 AS vector)), document, chunk LIMIT $4";

/// The words of a query as rows: `number`, `weight` and the query that finds the word.
macro_rules! with_words {
    ($statement:literal) => {
        concat!(
            "WITH query AS MATERIALIZED (SELECT ordinality AS number, CAST(value ->> 'lexeme' AS tsquery) AS lexeme, \
             CAST(value ->> 'weight' AS DOUBLE PRECISION) AS weight \
             FROM json_array_elements(CAST($2 AS json)) WITH ORDINALITY) ",
            $statement
        )
    };
}

// In two steps, because PostgreSQL sorts all rows for a COUNT(DISTINCT …).
const FREQUENCIES: &str = with_words!(
    "SELECT COUNT(document), CAST(COALESCE(SUM(chunks), 0) AS BIGINT) FROM \
     (SELECT number, document, COUNT(document) AS chunks FROM query \
     LEFT JOIN search_chunk ON namespace = $1 AND words @@ lexeme GROUP BY number, document) AS found \
     GROUP BY number ORDER BY number"
);
const BEST_BY_WORDS: &str = with_words!(
    "SELECT document FROM query JOIN search_chunk ON namespace = $1 AND words @@ lexeme \
     GROUP BY document, chunk ORDER BY SUM(weight) DESC, document, chunk LIMIT $3"
);
const SIZES: &str = "SELECT id, bytes FROM search_document WHERE namespace = $1 \
     AND id IN (SELECT json_array_elements_text(CAST($2 AS json)))";

/// A word of a query as [`with_words`] reads it.
#[derive(Serialize)]
struct QueryWord {
    lexeme: String,
    weight: f64,
}

impl SearchDocuments<'_> {
    /// The documents of the `limit` chunks nearest to the vector and of the `limit` best by words, with the frequencies
    /// of the words. `None` if the database cannot search: SQLite, and PostgreSQL without pgvector.
    ///
    /// The first search after pgvector was installed waits until the chunks of its namespace are stored as rows.
    pub async fn candidates(
        self,
        namespace: &str,
        vector: Option<&[f32]>,
        words: &[String],
        limit: u32,
    ) -> Result<Option<SearchCandidates>> {
        let vector = vector.map(comparable).transpose()?.flatten();
        if self.0.readers.engine() == Engine::Sqlite {
            return Ok(None);
        }
        chunks::set_up(self.0).await?;
        if !chunks::has_table(&mut self.0.readers.acquire().await?.conn()).await? {
            return Ok(None);
        }
        chunks::move_pending(self.0, namespace).await?;
        let mut snapshot = self.0.readers.snapshot().await?;
        let mut db = snapshot.conn();
        let Some(namespace) = namespaces::find(&mut db, namespace).await? else {
            return Ok(Some(SearchCandidates::default()));
        };
        let nearest = match vector {
            Some(vector) => find_nearest(&mut db, &namespace.name, vector, limit).await?,
            None => Vec::new(),
        };
        let frequencies = count_words(&mut db, &namespace.name, words).await?;
        let by_words = find_by_words(&mut db, &namespace, &frequencies, limit).await?;
        let ids = within_size(&mut db, &namespace.name, interleave(nearest, by_words)).await?;
        Ok(Some(SearchCandidates {
            documents: changes::find(&mut db, &namespace.name, &ids).await?,
            total_documents: namespace.documents,
            total_chunks: namespace.chunks,
            frequencies,
        }))
    }
}

/// The documents of the nearest chunks; one occurs as often as it has such chunks.
async fn find_nearest(db: &mut Conn<'_>, namespace: &str, vector: &[f32], limit: u32) -> Result<Vec<String>> {
    let dimensions = namespaces::to_column(vector.len() as u64);
    let vector = serde_json::to_string(vector).map_err(StoreError::failed)?;
    db.all(NEAREST, &params![namespace, vector, dimensions, limit]).await
}

/// How often each word occurs, in the order of the query.
async fn count_words(db: &mut Conn<'_>, namespace: &str, words: &[String]) -> Result<Vec<WordFrequency>> {
    let mut seen = HashSet::new();
    let words: Vec<&String> = words.iter().filter(|word| !word.is_empty() && seen.insert(*word)).collect();
    if words.is_empty() {
        return Ok(Vec::new());
    }
    let query = encode_words(words.iter().map(|word| (word.as_str(), 0.0)))?;
    let counts: Vec<(i64, i64)> = db.all(FREQUENCIES, &params![namespace, query]).await?;
    let frequency = |(word, (documents, chunks)): (&String, (i64, i64))| WordFrequency {
        word: word.clone(),
        documents: documents.unsigned_abs(),
        chunks: chunks.unsigned_abs(),
    };
    Ok(words.into_iter().zip(counts).map(frequency).collect())
}

/// The documents of the chunks with the most of the words, rare ones counting most.
async fn find_by_words(
    db: &mut Conn<'_>,
    namespace: &SearchNamespace,
    frequencies: &[WordFrequency],
    limit: u32,
) -> Result<Vec<String>> {
    // A word that most chunks have says next to nothing, and costs the most to look up: it is used only if the other
    // words do not find enough.
    let (selective, common): (Vec<&WordFrequency>, Vec<&WordFrequency>) =
        frequencies.iter().filter(|word| word.chunks > 0).partition(|word| word.chunks <= namespace.chunks / 2);
    let found = find_by_these(db, namespace, &selective, limit).await?;
    if common.is_empty() || found.len() as u64 >= u64::from(limit) {
        return Ok(found);
    }
    find_by_these(db, namespace, &[selective, common].concat(), limit).await
}

async fn find_by_these(
    db: &mut Conn<'_>,
    namespace: &SearchNamespace,
    words: &[&WordFrequency],
    limit: u32,
) -> Result<Vec<String>> {
    if words.is_empty() {
        return Ok(Vec::new());
    }
    let weighted = words.iter().map(|word| (word.word.as_str(), rarity(word.chunks, namespace.chunks)));
    db.all(BEST_BY_WORDS, &params![namespace.name, encode_words(weighted)?, limit]).await
}

/// The inverse document frequency of BM25, over chunks.
#[expect(clippy::cast_precision_loss, reason = "no namespace has so many chunks that it matters")]
fn rarity(chunks: u64, total: u64) -> f64 {
    let (chunks, others) = (chunks as f64, total.saturating_sub(chunks) as f64);
    ((others + 0.5) / (chunks + 0.5)).ln_1p()
}

fn encode_words<'w>(words: impl Iterator<Item = (&'w str, f64)>) -> Result<String> {
    let words: Vec<QueryWord> =
        words.map(|(word, weight)| Ok(QueryWord { lexeme: quote(lexeme(word))?, weight })).collect::<Result<_>>()?;
    serde_json::to_string(&words).map_err(StoreError::failed)
}

/// The word as a query for it alone, whatever characters it has.
fn quote(word: &str) -> Result<String> {
    if word.contains('\0') {
        return Err(StoreError::Nul);
    }
    Ok(format!("'{}'", word.replace('\\', r"\\").replace('\'', "''")))
}

/// Each document once: the best of both, then the second of both, and so on.
fn interleave(nearest: Vec<String>, by_words: Vec<String>) -> Vec<String> {
    let mut seen = HashSet::new();
    let (mut nearest, mut by_words) = (nearest.into_iter(), by_words.into_iter());
    let pairs = std::iter::from_fn(|| {
        let pair = [nearest.next(), by_words.next()];
        pair.iter().any(Option::is_some).then_some(pair)
    });
    pairs.flatten().flatten().filter(|id| seen.insert(id.clone())).collect()
}

/// The first of the documents, as many as may be returned.
async fn within_size(db: &mut Conn<'_>, namespace: &str, ids: Vec<String>) -> Result<Vec<String>> {
    let sizes: Vec<(String, i64)> = db.all(SIZES, &params![namespace, to_json(&ids)?]).await?;
    let sizes: HashMap<String, i64> = sizes.into_iter().collect();
    let mut bytes = 0;
    let is_within = |id: &String| {
        let room = bytes < CANDIDATE_BYTES;
        bytes += sizes.get(id).map_or(0, |size| size.unsigned_abs());
        room
    };
    Ok(ids.into_iter().take_while(is_within).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn candidates_are_taken_interleave_and_each_once() {
        assert_eq!(interleave(ids("a b a c"), ids("b d")), ids("a b d c"));
        assert_eq!(interleave(ids(""), ids("x y")), ids("x y"));
    }

    #[test]
    fn a_rare_word_counts_more_than_a_common_one() {
        assert!(rarity(1, 1000) > 2.0 * rarity(200, 1000));
        assert!(rarity(1000, 1000) > 0.0);
    }
}
