//! The index of one root: opened at the first use, and brought up to date before each search.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

use mainstay_core::Result;
use mainstay_sandbox::{Dir, WatchError, Workspace, map_own_file};
use mainstay_search::document::versions;
use mainstay_search::index::{BuildLock, Index, IndexDirectory, MapFile, Snapshot};
use mainstay_search::segment::Bytes;
use parking_lot::{Mutex, MutexGuard};

use super::failure::index_failure;
use super::indexer::{Files, Indexer};
use super::watch::{Changes, Watch, walk};
use crate::progress::Progress;
use crate::search::embedders::LazyEmbedder;
use crate::search::settings::SearchSettings;
use crate::walk::{EntryFilter, PathCollector, enters_directory, visits_file};

/// A smaller segment is read into memory: a process that shortens a mapped file by mistake ends this one. Larger ones are
/// mapped, so that the memory of a server does not grow with its workspace.
const MAPPED_FROM: u64 = 16 << 20;

/// How often all files are looked at where they are not watched. Up to the second, if looking takes longer than a tenth of
/// the first.
const SCAN_INTERVAL: Duration = Duration::from_secs(1);
const MAX_SCAN_INTERVAL: Duration = Duration::from_secs(10);

/// How often reports of the watch are taken in while nobody searches.
const COLLECT_INTERVAL: Duration = Duration::from_secs(1);

/// How often whoever waits for another's work looks whether it is still wanted.
const WAIT_STEP: Duration = Duration::from_millis(20);

/// The index of a root.
pub(in crate::search) struct RootIndex {
    workspace: Workspace,
    /// How callers name the root: `.`, or an absolute path.
    pub(in crate::search) name: String,
    directory: PathBuf,
    pub(in crate::search) embedder: LazyEmbedder,
    settings: SearchSettings,
    index: OnceLock<Index>,
    /// Held while the index is brought up to date, so that a process does it once at a time.
    refresh: Mutex<Refresh>,
    is_merging: AtomicBool,
}

/// What is known about changes. While they are brought into the index nothing is, so that after a failure the next search
/// looks at all files.
#[derive(Default)]
struct Refresh {
    watch: Option<Watch>,
    /// A thread takes reports of the watch in.
    is_collected: bool,
    /// Why there is none.
    unwatchable: Option<String>,
    /// When all files were last looked at, and how long that took if none had changed.
    scanned: Option<(Instant, Duration)>,
}

/// Whether changes are seen as they happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::search) enum WatchStatus {
    Yes,
    /// No search has needed it yet.
    NotYet,
    No(String),
}

impl RootIndex {
    /// Nothing is opened yet. `data` is the directory for indexes; the name of this one follows from the path of the root.
    pub(in crate::search) fn new(
        workspace: &Workspace,
        name: String,
        path: &Path,
        data: &Path,
        embedder: LazyEmbedder,
        settings: &SearchSettings,
    ) -> Self {
        let key = blake3::hash(path.as_os_str().as_encoded_bytes()).to_hex();
        Self {
            workspace: workspace.clone(),
            name,
            directory: data.join(&key[..32]),
            embedder,
            settings: settings.clone(),
            index: OnceLock::new(),
            refresh: Mutex::default(),
            is_merging: AtomicBool::new(false),
        }
    }

    /// The index with every change of the workspace up to now. Blocks; counts files.
    pub(in crate::search) fn up_to_date(self: &Arc<Self>, progress: &Progress) -> Result<Arc<Snapshot>> {
        let mut refresh = self.lock_refresh(progress)?;
        let index = self.index()?;
        let snapshot = index.refreshed().map_err(|error| index_failure(&error))?;
        if !snapshot.is_complete() {
            return self.scan(&mut refresh, progress);
        }
        let is_watched = match &mut refresh.watch {
            Some(watch) => watch.collect().is_ok(),
            None => false,
        };
        if !is_watched {
            let interval = |took: Duration| took.saturating_mul(10).clamp(SCAN_INTERVAL, MAX_SCAN_INTERVAL);
            let is_recent = |(at, took): (Instant, Duration)| at.elapsed() < interval(took);
            let is_recent = refresh.watch.is_none() && refresh.scanned.is_some_and(is_recent);
            return if is_recent { Ok(snapshot) } else { self.scan(&mut refresh, progress) };
        }
        match refresh.watch.as_mut().and_then(Watch::take) {
            Some(changes) if changes.is_empty() => Ok(snapshot),
            Some(changes) => self.apply(&mut refresh, snapshot, &changes, progress),
            None => self.scan(&mut refresh, progress),
        }
    }

    /// Looks at all files, whatever is known. With `rebuild`, the index is made anew.
    pub(in crate::search) fn refresh(self: &Arc<Self>, rebuild: bool, progress: &Progress) -> Result<Arc<Snapshot>> {
        let mut refresh = self.lock_refresh(progress)?;
        if rebuild {
            self.index()?.clear().map_err(|error| index_failure(&error))?;
        }
        self.scan(&mut refresh, progress)
    }

    /// The index as it is, without looking at the workspace.
    pub(in crate::search) fn without_refresh(&self) -> Result<Arc<Snapshot>> {
        self.index()?.refreshed().map_err(|error| index_failure(&error))
    }

    pub(in crate::search) fn watching(&self) -> WatchStatus {
        // Whoever holds the lock is about to watch.
        let Some(refresh) = self.refresh.try_lock() else { return WatchStatus::NotYet };
        match (&refresh.watch, &refresh.unwatchable) {
            (Some(_), _) => WatchStatus::Yes,
            (None, Some(reason)) => WatchStatus::No(reason.clone()),
            (None, None) => WatchStatus::NotYet,
        }
    }

    /// Merges segments until there are few. Blocks.
    pub(in crate::search) fn merge(&self) -> Result<()> {
        while self.index()?.merge_some().map_err(|error| index_failure(&error))? {}
        Ok(())
    }

    fn index(&self) -> Result<&Index> {
        if let Some(index) = self.index.get() {
            return Ok(index);
        }
        let map: MapFile = Arc::new(map_segment);
        let directory =
            IndexDirectory::open(self.directory.clone(), map).map_err(|error| index_failure(&error.into()))?;
        let index = Index::open(directory, versions(&**self.embedder.get()?)).map_err(|error| index_failure(&error))?;
        // Another call may have been first; both are the same.
        Ok(self.index.get_or_init(|| index))
    }

    /// Waits for other calls that bring the index up to date, as long as this one is wanted.
    fn lock_refresh(&self, progress: &Progress) -> Result<MutexGuard<'_, Refresh>> {
        loop {
            if let Some(guard) = self.refresh.try_lock_for(WAIT_STEP) {
                return Ok(guard);
            }
            progress.check()?;
        }
    }

    /// Looks at all files, and watches them from before that on.
    fn scan(self: &Arc<Self>, refresh: &mut Refresh, progress: &Progress) -> Result<Arc<Snapshot>> {
        let began = Instant::now();
        let start = Arc::new(self.open(Path::new(""))?);
        (refresh.watch, refresh.scanned) = (None, None);
        let mut watch = None;
        if self.settings.watch && refresh.unwatchable.is_none() {
            match Watch::start(&start, progress)? {
                Ok(started) => watch = Some(started),
                Err(error) => self.cannot_watch(refresh, error),
            }
        }
        let index = self.index()?;
        let _building = lock_build(index, progress)?;
        let base = index.refreshed().map_err(|error| index_failure(&error))?;
        if !base.is_complete() {
            // For a first build, which may take long, it is worth finding out how much there is to do.
            let all = walk(EntryFilter::File, progress.part()).run(&start, &PathCollector)?;
            progress.expect(all.items);
        }
        let part = progress.part();
        let indexer = Indexer::new(index, &**self.embedder.get()?, &self.settings, base, progress);
        let walked = walk(EntryFilter::File, part).run(&start, &Files { indexer: &indexer, prefix: String::new() });
        // A failure of the index cancels the walk, and is the reason to tell.
        indexer.check()?;
        walked?;
        let removed = indexer.unseen();
        // Reading and indexing does not tell how long it takes to look at files that have not changed.
        let took = if indexer.read.load(Ordering::Relaxed) == 0 { began.elapsed() } else { Duration::ZERO };
        let snapshot = indexer.finish(removed, true)?;
        (refresh.watch, refresh.scanned) = (watch, Some((Instant::now(), took)));
        self.collect_regularly(refresh);
        self.merge_in_background(&snapshot);
        Ok(snapshot)
    }

    /// Looks at what has changed.
    fn apply(
        self: &Arc<Self>,
        refresh: &mut Refresh,
        base: Arc<Snapshot>,
        changes: &Changes,
        progress: &Progress,
    ) -> Result<Arc<Snapshot>> {
        // The changes were taken out of the watch, and would be lost with a failure of what follows.
        let scanned = refresh.scanned.take();
        let Some(mut watch) = refresh.watch.take() else { return self.scan(refresh, progress) };
        let index = self.index()?;
        let indexer = Indexer::new(index, &**self.embedder.get()?, &self.settings, base, progress);
        let indexer = indexer.concerning(changes.concern());
        for path in &changes.directories {
            let Some(directory) = self.selected_directory(path) else { continue };
            let directory = Arc::new(directory);
            // Before the files are looked at, as in a scan.
            if let Err(error) = watch.add(&directory, path, progress)? {
                self.cannot_watch(refresh, error);
                return self.scan(refresh, progress);
            }
            let Some(prefix) = path.to_str() else { continue };
            let prefix = if prefix.is_empty() { String::new() } else { format!("{prefix}/") };
            let walked = walk(EntryFilter::File, progress.part()).run(&directory, &Files { indexer: &indexer, prefix });
            indexer.check()?;
            walked?;
        }
        for path in &changes.files {
            self.apply_file(&indexer, path, progress);
        }
        let removed = indexer.unseen();
        let snapshot = indexer.finish(removed, false)?;
        (refresh.watch, refresh.scanned) = (Some(watch), scanned);
        self.merge_in_background(&snapshot);
        Ok(snapshot)
    }

    fn apply_file(&self, indexer: &Indexer<'_>, path: &Path, progress: &Progress) {
        let (Some(shown), Some(name)) = (path.to_str(), path.file_name()) else { return };
        // A directory that is ignored since it is watched still reports changes.
        let Some(directory) = self.selected_directory(path.parent().unwrap_or(Path::new(""))) else { return };
        if visits_file(&directory, name) {
            indexer.file(&directory, name, shown, &|| !progress.is_cancelled());
        }
    }

    /// Opens a directory, if a walk from the root comes to it.
    fn selected_directory(&self, path: &Path) -> Option<Dir> {
        let mut directory = self.open(Path::new("")).ok()?;
        for name in path {
            if !enters_directory(&directory, name) {
                return None;
            }
            directory = directory.child(OsStr::new(name)).ok()?;
        }
        Some(directory)
    }

    /// Opens a directory of the root through the workspace, whose rules apply.
    fn open(&self, path: &Path) -> Result<Dir> {
        let below = path.to_str().unwrap_or_default();
        let path = match (self.name.as_str(), below) {
            (root, "") => root.to_owned(),
            (".", below) => below.to_owned(),
            (root, below) => format!("{root}/{below}"),
        };
        self.workspace.find(&path)?.open_dir()
    }

    fn cannot_watch(&self, refresh: &mut Refresh, error: WatchError) {
        refresh.watch = None;
        if let WatchError::Unwatchable(reason) = error {
            // Not again and again: each search would look at every directory for nothing.
            tracing::info!(root = self.name, reason, "files are not watched; a search looks at all of them");
            refresh.unwatchable = Some(reason);
        }
    }

    /// Takes reports in for as long as somebody uses this index. The thread ends with the watch.
    fn collect_regularly(self: &Arc<Self>, refresh: &mut Refresh) {
        if refresh.watch.is_none() || refresh.is_collected {
            return;
        }
        let weak: Weak<Self> = Arc::downgrade(self);
        let collect = move || {
            loop {
                std::thread::sleep(COLLECT_INTERVAL);
                let Some(root) = weak.upgrade() else { return };
                // Whoever holds the lock takes them in.
                let Some(mut refresh) = root.refresh.try_lock() else { continue };
                refresh.is_collected = refresh.watch.as_mut().is_some_and(|watch| watch.collect().is_ok());
                if !refresh.is_collected {
                    return;
                }
            }
        };
        // Without the thread, a search after a long time may have to look at all files.
        refresh.is_collected = std::thread::Builder::new().name("index watch".to_owned()).spawn(collect).is_ok();
    }

    /// Merges, so that the next searches have few segments to look at; not in a call, which would wait for it.
    fn merge_in_background(self: &Arc<Self>, snapshot: &Snapshot) {
        if !Index::needs_merge(snapshot) || self.is_merging.swap(true, Ordering::AcqRel) {
            return;
        }
        let root = self.clone();
        let merge = move || {
            if let Err(error) = root.merge() {
                tracing::warn!(detail = error.detail, "cannot merge the segments of a search index");
            }
            root.is_merging.store(false, Ordering::Release);
        };
        if std::thread::Builder::new().name("index merge".to_owned()).spawn(merge).is_err() {
            self.is_merging.store(false, Ordering::Release);
        }
    }
}

/// Reads or maps a segment, by its size.
pub(in crate::search) fn map_segment(file: &File) -> io::Result<Bytes> {
    if file.metadata()?.len() >= MAPPED_FROM {
        return Ok(Arc::new(map_own_file(file)?));
    }
    let mut bytes = Vec::new();
    io::Read::read_to_end(&mut &*file, &mut bytes)?;
    Ok(Arc::new(bytes))
}

/// Waits for another process that indexes the same root.
fn lock_build(index: &Index, progress: &Progress) -> Result<BuildLock> {
    loop {
        if let Some(lock) = index.try_build_lock().map_err(|error| index_failure(&error))? {
            return Ok(lock);
        }
        progress.check()?;
        std::thread::sleep(WAIT_STEP);
    }
}
