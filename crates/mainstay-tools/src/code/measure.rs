//! Finds the source files of a directory and measures them, on all cores.
//!
//! Measuring is the visit of a walk: the threads that walk also read and parse, and results arrive in the order of
//! paths.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use mainstay_code::report::{FailedFile, MeasuredFile, Measurement};
use mainstay_code::{CacheKey, FileMetrics, Language, Outcome, analyze};
use mainstay_core::{Error, Kind, Result};
use mainstay_sandbox::{Dir, Metadata, OpenFile};

use super::metrics_store::{FileState, MetricsStore};
use crate::progress::Progress;
use crate::setup::CodeSettings;
use crate::walk::page::PageLimits;
use crate::walk::{Collected, EntryFilter, StopSignal, Visitor, Walk, WalkEntry};

/// So much of a file without an extension is read to find out whether it is a script.
const FIRST_BYTES: u64 = 256;

/// What to measure, and with what.
pub(super) struct Measurer<'a> {
    pub(super) store: &'a MetricsStore,
    pub(super) settings: &'a CodeSettings,
    pub(super) languages: &'static [Language],
    /// What paths in the result begin with.
    pub(super) prefix: String,
    pub(super) counters: &'a Counters,
}

/// What the analyses so far have cost.
#[derive(Debug, Default)]
pub(super) struct Counters {
    /// Files that were read, because their metadata was not known.
    pub(super) read: AtomicU64,
    /// Files that were parsed, because their content was not known.
    pub(super) parsed: AtomicU64,
}

/// A source file that was found.
pub(super) enum Visited {
    Measured(MeasuredFile),
    Failed(FailedFile),
}

impl Measurer<'_> {
    /// Measures all source files below a directory. Progress is counted in directory entries.
    pub(super) fn directory(&self, start: &Arc<Dir>, progress: &Progress) -> Result<Measurement> {
        self.store.load();
        let found = walk(self.settings, progress).run(start, self)?;
        // Before anything is reported: a part of the files would be taken for all of them.
        check_count(found.items, self.settings)?;
        let mut measurement = Measurement::default();
        for visited in found.list {
            match visited {
                Visited::Measured(file) => measurement.files.push(file),
                Visited::Failed(file) => measurement.failed.push(file),
            }
        }
        self.store.save();
        Ok(measurement)
    }

    /// Measures one file, even if the project ignores it.
    pub(super) fn file(&self, file: &OpenFile, progress: &Progress) -> Result<Measurement> {
        self.store.load();
        let name = file.display().rsplit('/').next().unwrap_or_default().to_owned();
        let first = file.read_range(0, FIRST_BYTES)?;
        let language = Language::from_name(&name, &first).filter(|language| self.languages.contains(language));
        let mut measurement = Measurement::default();
        if let Some(language) = language {
            // One file is read in less time than its directory is found.
            let state = FileState::unknown(file.metadata());
            let path = file.display().to_owned();
            match self.outcome(file, &state, language, &|| !progress.is_cancelled()) {
                Ok(metrics) => measurement.files.push(MeasuredFile { path, metrics }),
                Err(reason) => measurement.failed.push(FailedFile { file: path, reason }),
            }
            progress.check()?;
            self.store.save();
        }
        Ok(measurement)
    }

    /// The metrics of an open file, from the store or by parsing it; or why there are none.
    fn outcome(
        &self,
        file: &OpenFile,
        state: &FileState,
        language: Language,
        wanted: &dyn Fn() -> bool,
    ) -> Result<Arc<FileMetrics>, String> {
        let limit = self.settings.file_bytes;
        self.counters.read.fetch_add(1, Ordering::Relaxed);
        let content = file.read_whole(limit).map_err(|error| error.public.into_owned())?;
        let content = content.ok_or_else(|| too_large(file.metadata(), limit))?;
        let key = CacheKey::of(language, &content);
        let outcome = self.store.known_content(state, key).unwrap_or_else(|| {
            self.counters.parsed.fetch_add(1, Ordering::Relaxed);
            let outcome: Outcome = analyze(language, &content, wanted).map(Arc::new);
            // The same bytes may end differently another time, if the analysis was cancelled.
            if outcome.as_ref().err().is_none_or(|reason| reason.is_permanent()) {
                self.store.insert(state, key, &outcome);
            }
            outcome
        });
        outcome.map_err(|reason| reason.to_string())
    }

    /// The metrics of an entry; `None` if it is not a source file of these languages.
    fn measure(&self, found: &WalkEntry<'_>, wanted: &dyn Fn() -> bool) -> Option<Result<MeasuredFile, String>> {
        let name = found.entry.name.to_string_lossy();
        let by_name = Language::from_file_name(&name);
        if by_name.is_none() && !may_be_script(&name)
            || by_name.is_some_and(|language| !self.languages.contains(&language))
        {
            return None;
        }
        // Removed a moment ago.
        let metadata = found.directory.metadata(&found.entry.name).ok()?;
        let state = FileState::new(found.directory, &found.entry.name, &metadata);
        let measured = |metrics| MeasuredFile { path: self.path(found), metrics };
        // Of a script without an extension the language is only known once it was read.
        if by_name.is_some() {
            // Even if it is known: the limit may have been another one.
            if metadata.size > self.settings.file_bytes {
                return Some(Err(too_large(&metadata, self.settings.file_bytes)));
            }
            if let Some(outcome) = self.store.unchanged(&state) {
                return Some(outcome.map(measured).map_err(|reason| reason.to_string()));
            }
        }
        let opened = match found.directory.file(&found.entry.name) {
            Ok(file) => file,
            Err(error) => return by_name.map(|_| Err(error.public.into_owned())),
        };
        let language = by_name.or_else(|| {
            let first = opened.read_range(0, FIRST_BYTES).ok()?;
            Language::from_name(&name, &first).filter(|language| self.languages.contains(language))
        })?;
        // The state of the very file that is read.
        let state = FileState::new(found.directory, &found.entry.name, opened.metadata());
        Some(self.outcome(&opened, &state, language, wanted).map(measured))
    }

    /// The path of an entry in the report.
    fn path(&self, found: &WalkEntry<'_>) -> String {
        // Not by `format`: `Display` of a path looks at every byte twice, and this runs for every file.
        self.prefix.clone() + &found.path().to_string_lossy()
    }
}

impl Visitor for Measurer<'_> {
    type Worker = ();
    type Item = Visited;
    // Parsing takes much longer than sharing the entries of a directory among threads.
    const PARALLEL_ENTRIES: bool = true;

    fn worker(&self) -> Self::Worker {}

    /// Looking up what is known takes less than starting a thread; reading and parsing takes more.
    fn is_slow(&self) -> bool {
        self.counters.read.load(Ordering::Relaxed) > 0
    }

    fn visit(&self, (): &mut (), found: &WalkEntry<'_>, stop: &StopSignal, all: &mut Collected<Visited>) {
        let visited = match self.measure(found, &|| !stop.is_set()) {
            None => return,
            Some(Ok(file)) => Visited::Measured(file),
            Some(Err(reason)) => Visited::Failed(FailedFile { file: self.path(found), reason }),
        };
        all.add(visited, 1, 0);
    }
}

/// Only a name without an extension leaves open what the file is.
fn may_be_script(name: &str) -> bool {
    !name.trim_start_matches('.').contains('.')
}

/// Why a file of this size is not measured. Its size is known without reading it.
fn too_large(metadata: &Metadata, limit: u64) -> String {
    format!("The file has {} bytes; more than {limit} are not measured (code.file_bytes).", metadata.size)
}

/// A walk through the sources below a directory: without what the project ignores, and without build output.
pub(super) fn walk(settings: &CodeSettings, progress: &Progress) -> Walk {
    Walk {
        globs: None,
        kind: EntryFilter::File,
        resume: None,
        ignored: false,
        sources_only: true,
        depth: usize::MAX,
        limits: PageLimits { items: settings.files, bytes: usize::MAX },
        progress: progress.clone(),
    }
}

/// Fails if there were more files than a call may analyse: figures of a part would be taken for those of all.
pub(super) fn check_count(files: usize, settings: &CodeSettings) -> Result<()> {
    if files <= settings.files {
        return Ok(());
    }
    let text = format!(
        "There are more than {} source files; choose a directory with fewer, or raise code.files.",
        settings.files
    );
    Err(Error::new(Kind::TooLarge, text))
}

/// The languages of a toolchain; an unknown one is an error that names all.
pub(super) fn languages_of(toolchain: &str) -> Result<&'static [Language]> {
    Language::of_toolchain(toolchain).ok_or_else(|| {
        let shown: String = toolchain.chars().take(80).collect();
        let known = Language::TOOLCHAINS.join(", ");
        Error::field("toolchain", format!("There is no toolchain {shown:?}; known are: {known}."))
    })
}
