//! The analyses of a workspace, for tools and for the command line.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use jiff::Timestamp;
use mainstay_code::churn::{ChurnReport, Period};
use mainstay_code::report::{DuplicateReport, HotspotReport, Measurement};
use mainstay_code::{Duplicates, DuplicatesOptions};
use mainstay_core::{Kind, Result};
use mainstay_sandbox::exec::ExecSettings;
use mainstay_sandbox::{Dir, Workspace};

use super::duplicate_search;

use super::measure::{Counters, Measurer, languages_of};
use super::metrics_store::MetricsStore;
use crate::git::{Git, Repository, as_project_path, open_directory};

use crate::progress::{Progress, blocking};
use crate::setup::CodeSettings;

/// Analyses the code and the history of a workspace. Cheap to clone.
#[derive(Clone)]
pub struct CodeAnalysis(Arc<Inner>);

struct Inner {
    workspace: Workspace,
    settings: CodeSettings,
    git: Git,
    /// What was measured before, by this process and by others.
    store: MetricsStore,
    counters: Counters,
}

/// Which source files to look at.
#[derive(Debug, Clone)]
pub struct SourceOptions {
    /// A directory or a file.
    pub path: String,
    /// A toolchain, the name of a language, or `all`.
    pub toolchain: String,
}

impl SourceOptions {
    /// In words, for what a report says if there are none: `rust files in src`.
    pub fn words(&self) -> String {
        let kind = if self.toolchain == "all" { "source" } else { &self.toolchain };
        // "There are no source files in .." would be hard to read.
        if self.path == "." { format!("{kind} files") } else { format!("{kind} files in {}", self.path) }
    }
}

/// Which history to look at.
#[derive(Debug, Clone)]
pub struct ChurnOptions {
    /// A directory in a repository.
    pub path: String,
    /// How far to look back from now.
    pub days: u32,
}

impl CodeAnalysis {
    /// Nothing is read or started before the first analysis. Without a cache directory, metrics are kept in memory
    /// alone.
    pub fn new(workspace: &Workspace, exec: &ExecSettings, settings: &CodeSettings, cache: Option<&Path>) -> Self {
        Self(Arc::new(Inner {
            workspace: workspace.clone(),
            settings: settings.clone(),
            git: Git::new(workspace, exec, Duration::from_secs(settings.git_seconds)),
            store: MetricsStore::new(cache),
            counters: Counters::default(),
        }))
    }

    /// How many files were read and parsed so far to measure them. What is known from before is neither.
    pub fn files_read_and_parsed(&self) -> (u64, u64) {
        let Counters { read, parsed } = &self.0.counters;
        (read.load(Ordering::Relaxed), parsed.load(Ordering::Relaxed))
    }

    /// Measures source files. Blocks; progress is counted in directory entries.
    pub fn measure(&self, options: &SourceOptions, progress: &Progress) -> Result<Measurement> {
        let measurer = self.measurer(&options.toolchain, String::new())?;
        let location = self.0.workspace.find(&options.path).map_err(as_project_path)?;
        // What is not a directory may be a file; if it is neither, the first error says why.
        match location.open_dir() {
            Ok(directory) => {
                let prefix = prefix_of(&directory);
                Measurer { prefix, ..measurer }.directory(&Arc::new(directory), progress)
            }
            Err(error) if error.kind == Kind::Invalid => {
                let Ok(file) = location.open_file() else { return Err(as_project_path(error)) };
                measurer.file(&file, progress)
            }
            Err(error) => Err(as_project_path(error)),
        }
    }

    /// What measures files of a toolchain; an unknown one is refused before anything is read.
    fn measurer(&self, toolchain: &str, prefix: String) -> Result<Measurer<'_>> {
        let Inner { settings, store, counters, .. } = &*self.0;
        Ok(Measurer { store, settings, languages: languages_of(toolchain)?, prefix, counters })
    }

    /// Code that occurs more than once, the largest groups first. Blocks; progress is counted in directory entries.
    pub fn duplicates(
        &self,
        sources: &SourceOptions,
        options: DuplicatesOptions,
        limit: usize,
        progress: &Progress,
    ) -> Result<DuplicateReport> {
        let languages = languages_of(&sources.toolchain)?;
        let start = Arc::new(open_directory(&self.0.workspace, &sources.path)?);
        let found = duplicate_search::find_sources(&start, languages, &self.0.settings, progress)?;
        let files = duplicate_search::Files { start: &start, prefix: prefix_of(&start), found };
        files.report(Duplicates::new(options), &self.0.settings, (limit, &sources.words()), progress)
    }

    /// How the files of a repository, or of a directory in it, have changed up to now. Progress is counted in commits.
    pub async fn churn(&self, options: &ChurnOptions, now: Timestamp, progress: &Progress) -> Result<ChurnReport> {
        let repository = self.repository(&options.path).await?;
        self.churn_of(&repository, options.days, now, progress).await
    }

    /// The files of a repository, or of a directory in it, that are complex and have changed often.
    pub async fn hotspots(
        &self,
        options: &ChurnOptions,
        limit: usize,
        now: Timestamp,
        progress: &Progress,
    ) -> Result<HotspotReport> {
        let repository = self.repository(&options.path).await?;
        let prefix = repository.inside.as_ref().map_or_else(String::new, |inside| format!("{inside}/"));
        let (analysis, path, measuring) = (self.clone(), options.path.clone(), progress.clone());
        let measure = blocking(move || {
            let start = open_directory(&analysis.0.workspace, &path)?;
            analysis.measurer("all", prefix)?.directory(&Arc::new(start), &measuring)
        });
        let churn = self.churn_of(&repository, options.days, now, progress);
        // Git is a process of its own, so both work at the same time.
        let (measurement, churn) = tokio::try_join!(measure, churn)?;
        Ok(HotspotReport::new(&churn, &measurement, limit))
    }

    /// Finds a repository on a blocking thread: directories are opened on the way.
    async fn repository(&self, path: &str) -> Result<Repository> {
        let (workspace, path) = (self.0.workspace.clone(), path.to_owned());
        blocking(move || Repository::find(&workspace, &path)).await
    }

    /// The churn of a repository that was found.
    async fn churn_of(
        &self,
        repository: &Repository,
        days: u32,
        now: Timestamp,
        progress: &Progress,
    ) -> Result<ChurnReport> {
        let since = now.as_second() - i64::from(days) * 24 * 60 * 60;
        let period = Period { now, days, repository: repository.top.display() };
        let Some(history) = self.0.git.log(repository, Some(since), progress).await? else {
            return Ok(ChurnReport::not_measured(period, "The repository has no commits."));
        };
        // Rarely needed: a name that was given up and is used again, or still.
        let uncertain: HashSet<Vec<u8>> = history.uncertain_names().map(<[u8]>::to_vec).collect();
        let existing = if uncertain.is_empty() {
            HashSet::new()
        } else {
            self.0.git.existing(repository, &uncertain, progress).await?
        };
        Ok(ChurnReport::new(&history, period, &|path| existing.contains(path)))
    }
}

/// What the paths of files in a directory begin with, as callers see them.
fn prefix_of(directory: &Dir) -> String {
    let shown = directory.display();
    if shown == "." { String::new() } else { format!("{shown}/") }
}
