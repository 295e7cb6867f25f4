//! `vector_search`: finds code and text by meaning.

use mainstay_core::{Context, Effect, Pace, Result, Spec, Spelling, Tool, WithText};
use mainstay_search::ranking::Hit;

use super::file_contents::FileContents;
use super::matches::{Match, Matches};
use super::query::{Args, ranked};
use super::search_tools::{RootsSnapshot, SearchTools};
use super::spec;
use crate::progress::{Progress, run_with_progress};

pub(crate) struct VectorSearch(pub(super) SearchTools);

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
            let searched = RootsSnapshot::up_to_date(roots, &progress)?;
            tools.search_roots(&searched, &args, &progress)
        })
        .await
    }

    fn search_roots(&self, searched: &RootsSnapshot, args: &Args, progress: &Progress) -> Result<Matches> {
        let embedder = self.embedder()?;
        let (hits, usage) = ranked(&searched.snapshot, &**embedder, &args.request())?;
        let matches = self.matches(searched, hits, args.snippet_lines, args.include_vectors, progress)?;
        Ok(Matches { matches, usage })
    }

    /// Hits in files, with what only the files have.
    pub(super) fn matches(
        &self,
        searched: &RootsSnapshot,
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
