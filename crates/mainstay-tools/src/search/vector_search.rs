//! `vector_search`: finds code and text by meaning.

use std::collections::HashMap;

use mainstay_core::{Context, Effect, Error, Pace, Result, Spec, Spelling, Tool, WithText};
use mainstay_sandbox::Workspace;
use mainstay_search::document::tag_hash;
use mainstay_search::embedding::Embedder;
use mainstay_search::index::Snapshot;
use mainstay_search::ranking::{self, Filter, Granularity, Hit, Request, SearchError};
use serde::Deserialize;

use super::matches::{Match, Matches, Usage, snippet};
use super::search_tools::{SearchTools, Searched};
use super::spec;
use super::workspace::provider_failure;
use crate::progress::{Progress, run_with_progress};

/// A longer query is a document, and its beginning would be all that counts.
const MAX_QUERY_BYTES: usize = 64 * 1024;

/// The name of what reranks; the number changes with the weights.
const RANKING: &str = "mainstay-ranking-1";

pub(crate) struct VectorSearch(pub(super) SearchTools);

#[derive(Debug, Clone, Deserialize, schemars::JsonSchema)]
pub(crate) struct Args {
    /// What to find: a question or description in words, or a name.
    pub(super) query: Option<String>,
    /// Vector to compare with, in the place of the query's own.
    pub(super) embedding: Option<Vec<f32>>,
    /// Maximum number of matches.
    #[serde(default = "default_top_k")]
    #[schemars(range(min = 1, max = 50))]
    pub(super) top_k: usize,
    /// A root of the workspace ("." is the first), or a namespace of vector_upsert. Default: all roots.
    pub(super) namespace: Option<String>,
    #[serde(default)]
    pub(super) filter: FilterArgs,
    /// Return the vector of each match.
    #[serde(default)]
    pub(super) include_vectors: bool,
    /// Order by files, definitions and tokens, too; false: by vectors and words alone.
    #[serde(default = "default_rerank")]
    pub(super) rerank: bool,
    /// Maximum lines of each snippet; 0 for none.
    #[serde(default = "default_snippet_lines")]
    pub(super) snippet_lines: usize,
}

#[derive(Debug, Clone, Default, Deserialize, schemars::JsonSchema)]
#[schemars(inline)]
#[serde(default, deny_unknown_fields)]
pub(super) struct FilterArgs {
    /// Only paths that begin with this, such as src/.
    pub(super) path_prefix: Option<String>,
    /// Only what has all of these: a language, a kind (function, method, type, section), test, docs, example, vendored, or
    /// a document's own tags.
    pub(super) tags: Vec<String>,
}

fn default_top_k() -> usize {
    5
}

fn default_rerank() -> bool {
    true
}

fn default_snippet_lines() -> usize {
    30
}

impl Tool for VectorSearch {
    const SPEC: Spec = Spec {
        title: "Search by meaning",
        description: "Finds code and documentation by meaning or by name, and returns the best matching functions, types \
                      and sections with their lines. Use it to find where something is done; use files_grep for exact \
                      text. The first search of a workspace builds its index.",
        pace: Pace::Long,
        spellings: &[
            Spelling { dialect: "mcp", name: "vector_search" },
            Spelling { dialect: "mira", name: "vector/search" },
        ],
        ..spec("search", Effect::Reads)
    };
    type Args = Args;
    type Output = WithText<Matches>;

    async fn call(&self, args: Args, context: &Context) -> Result<WithText<Matches>> {
        args.check()?;
        let found = self.0.search(args, context).await?;
        Ok(found.with_text())
    }
}

impl Args {
    /// What the schema cannot say.
    fn check(&self) -> Result<()> {
        let query = self.query.as_deref().unwrap_or_default();
        if query.len() > MAX_QUERY_BYTES {
            let line = format!("The query has {} bytes; at most {MAX_QUERY_BYTES} are accepted.", query.len());
            return Err(Error::field("query", line));
        }
        if query.trim().is_empty() && self.embedding.is_none() {
            return Err(Error::field("query", "The query is empty; say in words what to find, or name it."));
        }
        Ok(())
    }

    fn filter(&self) -> Filter {
        let prefix = self.filter.path_prefix.as_deref().unwrap_or_default();
        let mut filter = Filter { prefix: prefix.trim_start_matches("./").to_owned(), ..Filter::default() };
        for tag in &self.filter.tags {
            filter.require(tag);
        }
        filter
    }

    pub(super) fn request(&self) -> Request<'_> {
        Request {
            query: self.query.as_deref().unwrap_or_default(),
            embedding: self.embedding.as_deref(),
            filter: self.filter(),
            top_k: self.top_k,
            rerank: self.rerank,
            granularity: Granularity::Guess,
            ..Request::default()
        }
    }
}

impl FilterArgs {
    pub(super) fn is_empty(&self) -> bool {
        self.path_prefix.as_deref().unwrap_or_default().is_empty() && self.tags.is_empty()
    }

    /// The filter for documents of a namespace, of which `only` those with these ids may be found. Their tags are their
    /// authors' own.
    pub(super) fn of_namespace(&self, only: Option<Vec<String>>) -> Filter {
        let own_tags = self.tags.iter().map(|tag| tag_hash(tag)).collect();
        Filter { only: only.map(|ids| ids.into_iter().collect()), own_tags, ..Filter::default() }
    }
}

impl SearchTools {
    async fn search(&self, mut args: Args, context: &Context) -> Result<Matches> {
        let Some(mut roots) = self.roots(args.namespace.as_deref()) else {
            return self.search_namespace(args).await;
        };
        // Documents have paths from their roots; results of other roots than the first show absolute ones.
        if let Some((root, below)) = args.filter.path_prefix.as_deref().and_then(|prefix| self.root_of(prefix)) {
            roots.retain(|one| std::ptr::eq(*one, root));
            args.filter.path_prefix = Some(below);
        }
        let roots = self.commits(&roots).await;
        let tools = self.clone();
        run_with_progress(context, "files", move |progress| {
            let searched = Searched::up_to_date(roots, &progress)?;
            tools.search_roots(&searched, &args, &progress)
        })
        .await
    }

    fn search_roots(&self, searched: &Searched, args: &Args, progress: &Progress) -> Result<Matches> {
        let embedder = self.embedder()?;
        let (hits, usage) = ranked(&searched.snapshot, &**embedder, &args.request())?;
        let matches = self.matches(searched, hits, args.snippet_lines, args.include_vectors, progress)?;
        Ok(Matches { matches, usage })
    }

    /// Hits in files, with what only the files have.
    pub(super) fn matches(
        &self,
        searched: &Searched,
        hits: Vec<Hit>,
        snippet_lines: usize,
        with_vectors: bool,
        progress: &Progress,
    ) -> Result<Vec<Match>> {
        let mut contents = FileContents::new(self.workspace(), self.settings().file_bytes);
        let mut matches = Vec::with_capacity(hits.len());
        for hit in hits {
            progress.check()?;
            let (root, commit) = searched.root(hit.place.0)?;
            let shown = root.display(&hit.path);
            let text = contents.snippet(&shown, &hit, snippet_lines);
            let content = contents.of(&shown, hit.etag);
            let commit = content.and_then(|content| commit?.with(&hit.path, content)).map(str::to_owned);
            let part = searched.snapshot.parts.get(hit.place.0);
            let vector = part.filter(|_| with_vectors).and_then(|part| part.segment.unit_vector(hit.place.1));
            let shard = part.map(|part| part.name().to_owned());
            let mut one = Match::of(hit, shown, shard);
            (one.metadata.snippet, one.metadata.commit, one.vector) = (text, commit, vector);
            matches.push(one);
        }
        Ok(matches)
    }
}

/// Searches a snapshot, and says what ran.
pub(super) fn ranked(snapshot: &Snapshot, embedder: &dyn Embedder, request: &Request<'_>) -> Result<(Vec<Hit>, Usage)> {
    let answer = ranking::search(snapshot, embedder, request).map_err(search_failure)?;
    let usage = Usage {
        embedding_model: answer.usage.dense.then(|| embedder.id().to_owned()),
        embed_time_ms: answer.usage.embed_time.map(|took| u64::try_from(took.as_millis()).unwrap_or(u64::MAX)),
        rerank_model: answer.usage.ranking.then(|| RANKING.to_owned()),
    };
    Ok((answer.hits, usage))
}

/// Why a search has no answer, as an error of a call.
pub(super) fn search_failure(error: SearchError) -> Error {
    match error {
        SearchError::Embedding(error) => Error::field("embedding", format!("{}.", capitalized(&error.to_string()))),
        SearchError::Unavailable(error) => provider_failure(&error),
        SearchError::NoSuchDocument => Error::field("path", "The index has no such file; see index_status."),
    }
}

fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Files that were read for an answer, each once.
pub(super) struct FileContents<'a> {
    workspace: &'a Workspace,
    max_bytes: u64,
    files: HashMap<String, Option<Vec<u8>>>,
}

impl<'a> FileContents<'a> {
    pub(super) fn new(workspace: &'a Workspace, max_bytes: u64) -> Self {
        Self { workspace, max_bytes, files: HashMap::new() }
    }

    /// The content of a file, if it is still the one that was indexed: lines of another would be wrong.
    fn of(&mut self, path: &str, etag: [u8; 16]) -> Option<&[u8]> {
        let read = || {
            let file = self.workspace.find(path).ok()?.open_file().ok()?;
            let content = file.read_whole(self.max_bytes).ok()??;
            blake3::hash(&content).as_bytes().starts_with(&etag).then_some(content)
        };
        self.files.entry(path.to_owned()).or_insert_with(read).as_deref()
    }

    /// The first lines of what was found; none if no lines are wanted.
    pub(super) fn snippet(&mut self, path: &str, hit: &Hit, lines: usize) -> Option<String> {
        let content = self.of(path, hit.etag).filter(|_| lines > 0)?;
        snippet(content, hit.start_byte, hit.end_byte, lines)
    }
}
