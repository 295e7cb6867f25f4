//! The parallel traversal: each directory becomes entries to visit and directories to enter, as tasks of an
//! [`OrderedQueue`] that all threads share.

use std::ffi::OsString;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use mainstay_core::{Error, Result};
use mainstay_sandbox::{Dir, Entry, EntryKind};

use super::build_output::BuildDirectory;
use super::globs::{EntryFilter, Globs};
use super::ignore_rules::IgnoreRules;
use super::ordered_queue::{Key, OrderedQueue, Slot};
use super::page::PageLimits;
use super::visitor::{Collected, PathBuffer, ResumePoint, StopSignal, Unread, Visitor, WalkEntry};
use crate::progress::Progress;

/// The deepest directory that is entered, counted from the start: each level holds a file descriptor.
pub(super) const MAX_DEPTH: usize = 256;

/// The most entries that one thread visits at a time.
const MAX_BATCH: usize = 64;

/// The entries of a small directory are cut into about this many batches, because the files may be large, but into none
/// smaller than `MIN_BATCH`, because taking a task from the queue costs about as much as opening a few files.
const BATCHES: usize = 8;
const MIN_BATCH: usize = 16;

const MAX_THREADS: usize = 16;

/// While more tasks than this wait, threads are worth starting even if no visit takes long.
const MANY_TASKS: usize = 128;

/// A walk through a tree, up to one page of results.
pub(crate) struct Walk {
    /// The paths and the kind of the entries to visit; all paths without globs.
    pub(crate) globs: Option<Globs>,
    pub(crate) kind: EntryFilter,
    /// Where the page begins; `None` is the beginning of the tree.
    pub(crate) resume: Option<ResumePoint>,
    /// Whether to include what the project ignores.
    pub(crate) ignored: bool,
    /// Whether to leave out what programs have made, such as `node_modules`, even if the project does not ignore it.
    pub(crate) sources_only: bool,
    /// How many levels to walk; 1 is only the entries of the start.
    pub(crate) depth: usize,
    pub(crate) limits: PageLimits,
    pub(crate) progress: Progress,
}

impl Walk {
    /// Visits the tree below `start` until there is certainly more than one page of results.
    pub(crate) fn run<V: Visitor>(&self, start: &Arc<Dir>, visitor: &V) -> Result<Collected<V::Item>> {
        let rules = if self.ignored { Arc::default() } else { IgnoreRules::of_ancestors(start) };
        let traversal = Traversal { walk: self, visitor, start: PathBuffer::new(start).base };
        let first =
            PendingDirectory { parent: start.clone(), name: None, rules, resume: self.resume.clone(), depth: 0 };
        let queue = OrderedQueue::new(Task::Directory(first), self.limits);
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS);
        std::thread::scope(|scope| {
            let mut helpers = 0;
            traversal.work(&queue, || {
                // One at a time and only while tasks wait: a small tree is done before a thread would have started.
                let waiting = queue.waiting();
                let worthwhile = waiting > helpers + 1 && (waiting > MANY_TASKS || visitor.is_slow());
                if helpers + 1 < threads && worthwhile {
                    helpers += 1;
                    let _ = std::thread::Builder::new().spawn_scoped(scope, || traversal.work(&queue, || {}));
                }
            });
        });
        self.progress.check()?;
        Ok(queue.into_collected())
    }

    /// Whether an entry is visited. Called for every entry, before anything is opened.
    fn wants(&self, found: &WalkEntry<'_>) -> bool {
        self.kind.accepts(found.entry.kind)
            && self.globs.as_ref().is_none_or(|globs| globs.matches(found.path(), found.is_directory()))
    }

    /// Whether an entry at this depth is a directory to enter.
    fn enters(&self, found: &WalkEntry<'_>, depth: usize) -> bool {
        found.is_directory()
            && depth < self.depth
            && self.globs.as_ref().is_none_or(|globs| globs.may_contain_match(found.path()))
    }
}

enum Task {
    /// A directory to list.
    Directory(PendingDirectory),
    /// Entries of one directory to visit.
    Entries { directory: Arc<Dir>, entries: Vec<Entry> },
}

/// A directory that is still to be listed. It is opened as late as possible: a wide tree would otherwise exhaust the file
/// descriptors.
struct PendingDirectory {
    parent: Arc<Dir>,
    /// `None` is the start of the walk, which is open already.
    name: Option<OsString>,
    /// The ignore rules of the directories above it.
    rules: Arc<IgnoreRules>,
    /// Where the page begins in it; `None` if all of it belongs to the page.
    resume: Option<ResumePoint>,
    depth: usize,
}

type TaskQueue<V> = OrderedQueue<Task, <V as Visitor>::Item>;
type TaskSlot<'a, V> = Slot<'a, Task, <V as Visitor>::Item>;

/// A walk with its visitor.
struct Traversal<'a, V> {
    walk: &'a Walk,
    visitor: &'a V,
    /// The length of the path from the root to the start of the walk, with its slash.
    start: usize,
}

impl<V: Visitor> Traversal<'_, V> {
    /// Runs tasks of the queue until all are done.
    fn work(&self, queue: &TaskQueue<V>, mut after_each: impl FnMut()) {
        let mut worker = self.visitor.worker();
        while let Some((task, mut slot)) = queue.next() {
            if self.walk.progress.is_cancelled() {
                queue.abandon();
            } else {
                self.run_task(task, &mut worker, &mut slot);
            }
            // Hands over what came of the task, before the next thread is started for it.
            drop(slot);
            after_each();
        }
    }

    fn run_task(&self, task: Task, worker: &mut V::Worker, slot: &mut TaskSlot<'_, V>) {
        let result = match task {
            Task::Entries { directory, entries } => self.visit_all(&directory, &entries, worker, &slot.stop),
            Task::Directory(pending) => match self.split(&pending, worker, slot) {
                Ok(()) => return,
                Err(error) => {
                    let unread = Unread { count: 1, reasons: vec![error.public.into_owned()] };
                    Collected { unread, ..Collected::default() }
                }
            },
        };
        slot.results.push((slot.key.clone(), result));
    }

    /// Opens a directory and selects the entries that belong to the walk, sorted by name. Returns the rules that apply in
    /// it, too.
    fn list(&self, pending: &PendingDirectory) -> Result<(Arc<Dir>, Vec<Entry>, Arc<IgnoreRules>)> {
        let directory = match &pending.name {
            Some(name) => Arc::new(pending.parent.child(name)?),
            None => pending.parent.clone(),
        };
        if pending.depth >= MAX_DEPTH {
            let shown = directory.display();
            return Err(Error::invalid(format!("{shown} is more than {MAX_DEPTH} levels down; start the walk there.")));
        }
        let mut entries = directory.entries()?;
        let rules = &pending.rules;
        let rules = if self.walk.ignored { rules.clone() } else { rules.extended_by(&directory, &entries) };
        // Whatever the rules say: the contents of `.git` are of no use to a search.
        entries.retain(|entry| !entry.protected && entry.name != ".git");
        if self.walk.sources_only {
            let build = BuildDirectory::of(&entries);
            entries.retain(|entry| !build.has_made(entry));
        }
        if !rules.is_empty() {
            let mut path = PathBuffer::new(&directory);
            entries.retain(|entry| !rules.ignore(path.join(&entry.name), entry.kind == EntryKind::Directory));
        }
        if let Some(first) = pending.resume.as_ref().and_then(|resume| resume.names.first()) {
            // Everything before the resume point was on earlier pages.
            entries.retain(|entry| entry.name >= *first);
        }
        entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        self.walk.progress.add(entries.len());
        Ok((directory, entries, rules))
    }

    /// Cuts a listing at its directories: what lies between two of them is visited in batches, and each directory becomes
    /// a task. The keys keep all of it in path order.
    fn split(&self, pending: &PendingDirectory, worker: &mut V::Worker, slot: &mut TaskSlot<'_, V>) -> Result<()> {
        let (directory, entries, rules) = self.list(pending)?;
        let depth = pending.depth + 1;
        let batch_size = (entries.len() / BATCHES).clamp(MIN_BATCH, MAX_BATCH);
        let mut batch: Vec<Entry> = Vec::new();
        let mut batch_start = 0;
        let mut path = PathBuffer::new(&directory);
        let mut end_batch = |batch: &mut Vec<Entry>, at: u32, slot: &mut TaskSlot<'_, V>| {
            if batch.is_empty() {
                return;
            }
            let (key, entries) = (child_key(&slot.key, 2 * at), std::mem::take(batch));
            if V::PARALLEL_ENTRIES {
                slot.tasks.push((key, Task::Entries { directory: directory.clone(), entries }));
            } else {
                slot.results.push((key, self.visit_all(&directory, &entries, worker, &slot.stop)));
            }
        };
        for (at, entry) in (0_u32..).zip(entries) {
            let path_from_root = path.join(&entry.name);
            let found = WalkEntry { directory: &directory, entry: &entry, path_from_root, start: self.start };
            // A directory before the resume point may still contain entries after it.
            let (on_page, resume) = resume_in(pending.resume.as_ref(), &entry);
            let wanted = on_page && self.walk.wants(&found);
            let name = if self.walk.enters(&found, depth) { Some(entry.name.clone()) } else { None };
            if wanted {
                if batch.is_empty() {
                    batch_start = at;
                }
                batch.push(entry);
            }
            // What comes before a directory has to be finished before it, to keep the order.
            if name.is_some() || (V::PARALLEL_ENTRIES && batch.len() >= batch_size) {
                end_batch(&mut batch, batch_start, slot);
            }
            if name.is_some() {
                let pending = PendingDirectory { parent: directory.clone(), name, rules: rules.clone(), resume, depth };
                slot.tasks.push((child_key(&slot.key, 2 * at + 1), Task::Directory(pending)));
            }
        }
        end_batch(&mut batch, batch_start, slot);
        Ok(())
    }

    /// Visits entries until the page is full or the walk is stopped.
    fn visit_all(
        &self,
        directory: &Dir,
        entries: &[Entry],
        worker: &mut V::Worker,
        page_full: &Arc<AtomicBool>,
    ) -> Collected<V::Item> {
        let stop = StopSignal { page_full: page_full.clone(), progress: self.walk.progress.clone() };
        let mut all = Collected::default();
        let mut path = PathBuffer::new(directory);
        for entry in entries {
            if stop.is_set() || self.walk.limits.exceeded(all.items, all.bytes) {
                break;
            }
            let found = WalkEntry { directory, entry, path_from_root: path.join(&entry.name), start: self.start };
            self.visitor.visit(worker, &found, &stop, &mut all);
        }
        all
    }
}

/// The key of something in a directory: its entry `at` has the position `2 * at`, and what that entry contains comes right
/// after it.
fn child_key(key: &Key, position: u32) -> Key {
    let mut child = Vec::with_capacity(key.len() + 1);
    child.extend_from_slice(key);
    child.push(position);
    child
}

/// Whether an entry itself is on the page, and where the page begins inside it. Entries before the resume point were
/// removed from the listing.
fn resume_in(resume: Option<&ResumePoint>, entry: &Entry) -> (bool, Option<ResumePoint>) {
    let Some(resume) = resume else { return (true, None) };
    match resume.names.split_first() {
        Some((first, rest)) if *first == entry.name => {
            let deeper = ResumePoint { names: rest.to_vec(), inclusive: resume.inclusive };
            if rest.is_empty() { (resume.inclusive, None) } else { (false, Some(deeper)) }
        }
        Some(_) | None => (true, None),
    }
}
