//! An index made and searched by the library, without a server around it.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result};
use mainstay_search::document::{Lengths, Prepared, prepare, prepare_definition, versions};
use mainstay_search::embedding::Embedder;
use mainstay_search::index::{Index, IndexDirectory, MapFile, Snapshot, Update};
use mainstay_search::segment::{Bytes, SegmentBuilder};
use serde::Serialize;

/// A larger file is data.
const MAX_FILE_BYTES: u64 = 1_000_000;

pub(crate) struct LibraryIndex {
    index: Index,
    pub(crate) summary: Summary,
    _directory: tempfile::TempDir,
}

/// What an index consists of.
#[derive(Clone, Default, Serialize)]
pub(crate) struct Summary {
    pub(crate) documents: u32,
    pub(crate) chunks: u32,
    pub(crate) seconds: f64,
    pub(crate) bytes: u64,
    /// Average terms of a document's path, names, file name, docs and bodies.
    pub(crate) document_terms: [f64; 5],
    /// Average terms of a chunk's path, name, enclosing names, doc and body.
    pub(crate) chunk_terms: [f64; 5],
}

/// The name that a function of a list has as a document.
pub(crate) fn path_of_function(place: usize) -> String {
    place.to_string()
}

impl LibraryIndex {
    pub(crate) fn of_directory(root: &Path, embedder: &dyn Embedder) -> Result<Self> {
        let mut files = Vec::new();
        find(root, &mut files).with_context(|| format!("cannot read {}", root.display()))?;
        files.sort();
        let start = Instant::now();
        let prepared = files.iter().filter_map(|path| {
            let name = path.strip_prefix(root).ok()?.to_string_lossy().into_owned();
            let source = std::fs::read(path).ok()?;
            let size = u64::try_from(source.len()).ok()?;
            prepare(&name, &source, size, 0, [0; 16], embedder, &|| true).ok()
        });
        Self::new(prepared, embedder, start)
    }

    /// Each function, given by its name and its code, is a document of its own.
    pub(crate) fn of_functions<'a>(
        functions: impl Iterator<Item = (&'a str, &'a str)>,
        embedder: &dyn Embedder,
    ) -> Result<Self> {
        let start = Instant::now();
        let prepared = functions.enumerate().filter_map(|(place, (name, code))| {
            let mut prepared = prepare_definition("", name, code, embedder).ok()?;
            prepared.path = path_of_function(place);
            Some(prepared)
        });
        Self::new(prepared, embedder, start)
    }

    fn new(prepared: impl Iterator<Item = Prepared>, embedder: &dyn Embedder, start: Instant) -> Result<Self> {
        let directory = tempfile::tempdir()?;
        // Read instead of mapped: mapping files is the sandbox's work, and these are small.
        let read: MapFile = Arc::new(|file: &File| {
            let mut bytes = Vec::new();
            io::Read::read_to_end(&mut &*file, &mut bytes)?;
            let bytes: Bytes = Arc::new(bytes);
            Ok(bytes)
        });
        let versions = versions(embedder);
        let index = Index::open(IndexDirectory::open(directory.path().to_owned(), read)?, versions.clone())?;
        let mut builder = SegmentBuilder::new(versions);
        let mut summary = Summary::default();
        let mut lengths = (Lengths::default(), Lengths::default());
        for document in prepared {
            document.add_to(&mut builder)?;
            summary.documents += 1;
            summary.chunks += u32::try_from(document.chunks.len())?;
            let sums = lengths.0.iter_mut().chain(&mut lengths.1);
            sums.zip(document.lengths.0.into_iter().chain(document.lengths.1)).for_each(|(sum, length)| *sum += length);
        }
        index.apply(Update { added: Some(builder), completes: true, ..Update::default() })?;
        let average = |lengths: Lengths, count: u32| lengths.map(|length| f64::from(length) / f64::from(count.max(1)));
        summary.document_terms = average(lengths.0, summary.documents);
        summary.chunk_terms = average(lengths.1, summary.chunks);
        summary.seconds = start.elapsed().as_secs_f64();
        summary.bytes = index.snapshot().bytes();
        Ok(Self { index, summary, _directory: directory })
    }

    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        self.index.snapshot()
    }
}

/// Files that are not hidden, not installed and not built.
fn find(directory: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let kind = entry.file_type()?;
        if kind.is_dir() && !name.starts_with('.') && name != "node_modules" && name != "target" {
            find(&entry.path(), files)?;
        } else if kind.is_file() && entry.metadata()?.len() < MAX_FILE_BYTES {
            files.push(entry.path());
        }
    }
    Ok(())
}
