//! Every number of the ranking, with its meaning.
//!
//! The weights of the chunk score were fitted on pairs of sentences and functions in ten languages, those of the file
//! score on questions about 16 repositories, each weight on other queries than it was measured with. The rest was set
//! by hand.
//!
//! Differences of NDCG@10 in these comments are those of a prototype of this ranking when one part was left out or
//! changed and the rest kept: over six repositories for files, over the pairs for functions. They tell what a part is
//! for; they are not figures of this implementation.

/// The longest query that is read; what follows is cut off.
pub const MAX_QUERY_BYTES: usize = 16 << 10;
/// The most results of one search.
pub const MAX_RESULTS: usize = 50;

/// Saturation of BM25F for chunks and for documents: how soon another occurrence of a word counts nothing.
pub(super) const K1_CHUNK: f32 = 1.2;
pub(super) const K1_DOCUMENT: f32 = 1.5;

/// Chunk score: cosine of the vectors.
pub(super) const C_DENSE: f32 = 12.0;
/// BM25F of the chunk, as it is.
/// Not divided by the highest: the best of poor matches would then count as much as a full one. The weight is small
/// because BM25F grows with every word that is met, where a cosine is at most 1.
pub(super) const C_LEXICAL: f32 = 0.06;
/// How well the tokens of the name are met by those of the query.
pub(super) const C_NAME_IN_QUERY: f32 = 2.4;
/// How well the tokens of the query are met by those of the name.
pub(super) const C_QUERY_IN_NAME: f32 = 3.0;
/// How well the tokens of the query are met by those of the whole chunk.
pub(super) const C_QUERY_IN_TEXT: f32 = 6.0;

/// Chunks whose tokens are compared with the query's: the best by vector and words, and some by words alone.
pub(super) const CANDIDATES: usize = 200;
/// Those by words alone are for rare names, of which the vector knows little.
pub(super) const LEXICAL_CANDIDATES: usize = 50;
/// Chunks that may become candidates: the nearest by vector, and as many by words.
pub(super) const NEAREST: usize = 400;
/// Files that are looked at although they own no such chunk: the best by words.
pub(super) const LEXICAL_FILES: usize = 100;
/// Files whose chunks may be shown.
pub(super) const FILES: usize = 200;
/// Tokens of a query that are compared; one in words has about six.
pub(super) const MAX_QUERY_TOKENS: usize = 128;
/// Terms and words of a query that are looked up.
pub(super) const MAX_QUERY_TERMS: usize = 256;

/// File score: the mean of the four best cosines of its chunks (missing ones count 0).
pub(super) const F_DENSE: f32 = 7.0;
/// Always divided by four, so that a small file with one chunk that is near by chance stays behind a file that is about
/// the subject throughout.
pub(super) const DENSE_CHUNKS: usize = 4;
/// The best match of the query by the name of a candidate.
pub(super) const F_NAME: f32 = 2.2;
/// BM25F of its best chunk, and of the file, each as a share of the highest.
pub(super) const F_LEXICAL: f32 = 1.3;
pub(super) const F_FILE_LEXICAL: f32 = 2.4;
/// How well the tokens of the file's name are met by those of the query.
pub(super) const F_STEM_SOFT: f32 = 1.4;
/// The same with words, by their rarity.
pub(super) const F_STEM: f32 = 3.8;
/// The logarithm of its lines: of two files about the same, the longer is the central one.
/// It gains 0.015 of NDCG@10 on the six repositories, whose questions ask for the central file, and costs 0.005 on ten
/// others.
pub(super) const F_LINES: f32 = 0.27;
/// It defines what the query mentions.
pub(super) const F_DEFINITION: f32 = 1.7;
/// It defines the symbol that is the whole query.
pub(super) const F_SYMBOL: f32 = 8.0;

/// A word of the query and one of the file's name of which one begins with the other; the shorter has at least three
/// letters.
pub(super) const PREFIX_MATCH: f32 = 0.8;
pub(super) const PREFIX_LETTERS: usize = 3;
/// The file's name is two or three words of the query.
pub(super) const STEM_COMPOUND: f32 = 0.3;

/// A definition that the query mentions, by its kind.
pub(super) const MENTIONED_FUNCTION: f32 = 0.8;
pub(super) const MENTIONED_MEMBER: f32 = 0.5;
/// Equal but for a leading `$`.
pub(super) const MENTIONED_NEARLY: f32 = 0.9;
/// The query has only a capital letter there: it may be the beginning of a sentence or a proper name.
pub(super) const CAPITALISED: f32 = 0.6;
/// Words of the query that joined are the name of a type, or of a free function.
/// People write "JSON element" and mean `JsonElement`; without this, NDCG@10 falls by 0.016.
pub(super) const COMPOUND: f32 = 0.8;
pub(super) const COMPOUND_FUNCTION: f32 = 0.7;

/// The symbol that is the whole query: equal but for a leading `$`, another spelling, kinds that are looked for less,
/// a member asked for without its type, the same type around it, a file of that name, a file with a penalty.
pub(super) const SYMBOL_NEARLY: f32 = 0.9;
pub(super) const SYMBOL_OTHER_SPELLING: f32 = 0.7;
pub(super) const SYMBOL_FUNCTION: f32 = 0.7;
pub(super) const SYMBOL_CONSTANT: f32 = 0.6;
pub(super) const SYMBOL_MODULE: f32 = 0.4;
pub(super) const SYMBOL_MEMBER: f32 = 0.6;
pub(super) const SYMBOL_SAME_OWNER: f32 = 1.5;
pub(super) const SYMBOL_FILE_NAME: f32 = 1.3;
pub(super) const SYMBOL_PENALISED: f32 = 0.5;

/// Penalties of files.
/// They are subtracted and exclude nothing: where only a test has the answer, it is still found.
pub(super) const P_TEST: f32 = 3.0;
/// Examples, benchmarks, documentation, scripts.
pub(super) const P_SUPPORTING: f32 = 1.5;
/// What is left of the two when the query asks for such files.
pub(super) const P_ASKED_FOR: f32 = 0.3;
pub(super) const P_PROSE: f32 = 2.0;
pub(super) const P_COMPATIBILITY: f32 = 1.0;
/// A file for another platform than the one this program runs on.
/// Such files define the same functions in the same words, so that nothing else tells them apart.
pub(super) const P_PLATFORM: f32 = 3.0;
/// A directory `v1` beside a directory `v2`.
pub(super) const P_OLD_VERSION: f32 = 3.0;

/// How much a chunk's place depends on its file. A question in words asks for a file, a sentence on what a function
/// does for that function.
/// No single weight serves both: with 4, files are found well and functions lose 0.06 to 0.09 of NDCG@10; with 0.3, it
/// is files that lose 0.1.
pub(super) const FILE_WEIGHT: f32 = 5.0;
pub(super) const FILE_WEIGHT_DEFINITION: f32 = 0.4;
/// What a chunk loses for each better one of its file, where files are asked for: ten chunks then are of six files.
pub(super) const FOLD: f32 = 12.0;
/// A difference of scores of this much, for each unit of weight, makes a result's score 1/e.
pub(super) const SCORE_SPREAD: f32 = 5.0;

/// Two chunks of one name whose vectors have this cosine are the same code; only the better one is shown.
pub(super) const DUPLICATE_COSINE: f32 = 0.98;

/// Terms of a span by which similar chunks are found: its rarest.
pub(super) const SIMILAR_TERMS: usize = 32;
