//! Indexes to measure with.

use std::fmt;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use mainstay_search::document::{Lengths, Prepared, prepare, prepare_definition, versions};
use mainstay_search::embedding::Embedder;
use mainstay_search::index::{Index, IndexDirectory, MapFile, Snapshot, Update};
use mainstay_search::segment::{Bytes, SegmentBuilder};

/// A larger file is data.
const MAX_FILE_BYTES: u64 = 1_000_000;

pub(crate) struct Indexed {
    index: Index,
    took: Duration,
    documents: u32,
    chunks: u32,
    /// Of documents and of chunks, in all.
    lengths: (Lengths, Lengths),
    _directory: tempfile::TempDir,
}

/// The name that a function of a list has as a document.
pub(crate) fn path_of_definition(number: u64) -> String {
    number.to_string()
}

impl Indexed {
    pub(crate) fn of_directory(root: &Path, embedder: &dyn Embedder) -> io::Result<Self> {
        let mut files = Vec::new();
        find(root, &mut files)?;
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

    pub(crate) fn of_definitions<'a>(
        definitions: impl Iterator<Item = (&'a str, &'a str)>,
        embedder: &dyn Embedder,
    ) -> io::Result<Self> {
        let start = Instant::now();
        let prepared = (0..).zip(definitions).filter_map(|(number, (name, code))| {
            let mut prepared = prepare_definition("", name, code, embedder).ok()?;
            prepared.path = path_of_definition(number);
            Some(prepared)
        });
        Self::new(prepared, embedder, start)
    }

    fn new(prepared: impl Iterator<Item = Prepared>, embedder: &dyn Embedder, start: Instant) -> io::Result<Self> {
        let directory = tempfile::tempdir()?;
        let read: MapFile = Arc::new(|file: &File| {
            let mut bytes = Vec::new();
            io::Read::read_to_end(&mut &*file, &mut bytes)?;
            let bytes: Bytes = Arc::new(bytes);
            Ok(bytes)
        });
        let versions = versions(embedder);
        let opened = IndexDirectory::open(directory.path().to_owned(), read)?;
        let index = Index::open(opened, versions.clone()).map_err(io::Error::other)?;
        let mut builder = SegmentBuilder::new(versions);
        let (mut documents, mut chunks) = (0, 0);
        let mut lengths = (Lengths::default(), Lengths::default());
        for document in prepared {
            document.add_to(&mut builder).map_err(io::Error::other)?;
            documents += 1;
            chunks += u32::try_from(document.chunks.len()).unwrap_or(0);
            let sums = lengths.0.iter_mut().chain(&mut lengths.1);
            sums.zip(document.lengths.0.into_iter().chain(document.lengths.1)).for_each(|(sum, length)| *sum += length);
        }
        let update = Update { added: Some(builder), completes: true, ..Update::default() };
        index.apply(update).map_err(io::Error::other)?;
        Ok(Self { index, took: start.elapsed(), documents, chunks, lengths, _directory: directory })
    }

    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        self.index.snapshot()
    }
}

impl fmt::Display for Indexed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let average = |lengths: &Lengths, count: u32| {
            lengths.map(|length| (f64::from(length) / f64::from(count.max(1)) * 10.0).round() / 10.0)
        };
        write!(
            formatter,
            "{} documents, {} chunks in {:.2} s, {} KiB; terms of a document's path, names, file name, docs, \
             bodies {:?}, of a chunk's path, name, enclosing names, doc, body {:?}",
            self.documents,
            self.chunks,
            self.took.as_secs_f64(),
            self.index.snapshot().bytes() / 1024,
            average(&self.lengths.0, self.documents),
            average(&self.lengths.1, self.chunks),
        )
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
