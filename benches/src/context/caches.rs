//! The caches that servers and command lines resolve from, built when they are first asked for.

use std::path::{Path, PathBuf};

use anyhow::Result;
use serde::Serialize;

use crate::bench_support::corpus::Corpus;
use crate::bench_support::program_run::ProgramRun;
use crate::bench_support::progress;
use crate::context::contenders::Contenders;
use crate::context::documents;

pub(crate) struct Caches {
    /// Where the sources are kept.
    data: PathBuf,
    /// What a server gets as its cache root.
    pub(crate) root: PathBuf,
    pub(crate) built: Vec<Built>,
}

/// What it took to build a cache, once and not in turns with anyone.
#[derive(Serialize)]
pub(crate) struct Built {
    pub(crate) who: &'static str,
    pub(crate) documents: usize,
    pub(crate) source_bytes: u64,
    pub(crate) took_ms: f64,
    pub(crate) peak_bytes: u64,
}

impl Caches {
    pub(crate) fn new(data: &Path, scratch: &Path) -> Result<Self> {
        let root = scratch.join("caches");
        std::fs::create_dir_all(&root)?;
        Ok(Self { data: data.to_owned(), root, built: Vec::new() })
    }

    pub(crate) fn sources(&self, documents: usize) -> Result<Corpus<documents::Counts>> {
        documents::prepare(&self.data, documents)
    }

    /// The name of the cache of the first `documents`, under the root.
    pub(crate) async fn cache(&mut self, contenders: &Contenders, documents: usize) -> Result<String> {
        let name = documents.to_string();
        if self.built.iter().any(|built| built.documents == documents) {
            return Ok(name);
        }
        let sources = self.sources(documents)?;
        let builder = contenders.builder();
        progress(&format!("building a cache of {documents} documents"));
        rustix::fs::sync();
        let run = ProgramRun::of(contenders.build(builder, &sources.root, &self.root.join(&name))?).await?;
        self.built.push(Built {
            who: builder.command_line(),
            documents,
            source_bytes: sources.counts.bytes,
            took_ms: run.milliseconds(),
            peak_bytes: run.peak_bytes,
        });
        Ok(name)
    }
}
