//! How long PostgreSQL takes to store chunks and to find candidates: `search_candidates URL CHUNKS`.
//!
//! URL is that of a database with pgvector, empty or from an earlier run with as many chunks. Documents have four chunks, with 60 words each of a vocabulary as
//! uneven as that of a language, and vectors of 256 dimensions. Every query runs 20 times; the median counts.
#![expect(clippy::print_stdout, reason = "it prints what it measured")]
#![expect(clippy::unwrap_used, reason = "a measurement that cannot go on has failed")]

use std::time::Instant;

use mainstay_store::{NewSearchDocument, SearchChunk, SearchLimits, Store, StoreOptions, WriteMode};

const CHUNKS_OF_A_DOCUMENT: usize = 4;
const DOCUMENTS_OF_A_PUT: usize = 50;
const WORDS_OF_A_CHUNK: usize = 60;
const VOCABULARY: f64 = 30_000.0;
const DIMENSIONS: usize = 256;
const RUNS: usize = 20;

/// A linear congruential generator, so that every run stores the same.
struct Random(u64);

impl Random {
    /// From 0 to 1.
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        f64::from(u32::try_from(self.0 >> 32).unwrap()) / f64::from(u32::MAX)
    }

    /// The n-th word is about as frequent as 1/n.
    fn word(&mut self) -> String {
        format!("word{:.0}", VOCABULARY.powf(self.next()))
    }

    #[expect(clippy::cast_possible_truncation, reason = "a vector's values need no more digits")]
    fn vector(&mut self) -> Vec<f32> {
        (0..DIMENSIONS).map(|_| (self.next() - 0.5) as f32).collect()
    }

    fn document(&mut self, number: usize) -> NewSearchDocument {
        let chunk =
            |_| SearchChunk { words: (0..WORDS_OF_A_CHUNK).map(|_| self.word()).collect(), vector: self.vector() };
        let chunks: Vec<_> = (0..CHUNKS_OF_A_DOCUMENT).map(chunk).collect();
        let text = chunks.iter().map(|chunk| chunk.words.join(" ")).collect();
        NewSearchDocument {
            id: number.to_string(),
            text,
            prepared: vec![7; 4000],
            chunks,
            ..NewSearchDocument::default()
        }
    }
}

async fn measure(store: &Store, what: &str, vector: Option<&[f32]>, words: &[&str]) {
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    let mut times = Vec::new();
    let mut found = 0;
    for _ in 0..RUNS {
        let started = Instant::now();
        found = store.search().candidates("bench", vector, &words, 200).await.unwrap().unwrap().documents.len();
        times.push(started.elapsed());
    }
    times.sort_unstable();
    println!("{what:40} {:7.1} ms, {found} documents", times[RUNS / 2].as_secs_f64() * 1e3);
}

#[tokio::main]
async fn main() {
    let mut arguments = std::env::args().skip(1);
    let url = arguments.next().unwrap();
    let chunks: usize = arguments.next().unwrap().parse().unwrap();
    let store = Store::open(&url, StoreOptions::default()).await.unwrap();
    let limits = SearchLimits { documents: u64::MAX, bytes: u64::MAX, namespaces: u64::MAX };
    let mut random = Random(1);
    let started = Instant::now();
    let stored = store.search().namespace("bench").await.unwrap().map_or(0, |namespace| namespace.chunks);
    let missing = if stored == 0 { chunks } else { 0 };
    let mut documents = (0..missing / CHUNKS_OF_A_DOCUMENT).map(|number| random.document(number)).peekable();
    while documents.peek().is_some() {
        let put = documents.by_ref().take(DOCUMENTS_OF_A_PUT).collect();
        store.search().put("bench", put, limits, 0, WriteMode::Commit).await.unwrap();
    }
    println!("{missing} chunks put in {:.1} s", started.elapsed().as_secs_f64());
    let vector = random.vector();
    measure(&store, "nearest", Some(&vector), &[]).await;
    measure(&store, "two rare words", None, &["word20000", "word9000"]).await;
    measure(&store, "a common word (half of the chunks)", None, &["word10"]).await;
    let question = ["word2", "word10", "word100", "word1000", "word9000"];
    measure(&store, "five words and the vector", Some(&vector), &question).await;
    store.close().await.unwrap();
}
