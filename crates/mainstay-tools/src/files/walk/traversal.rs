//! The parallel traversal: each directory becomes entries to visit and directories to enter, as tasks of an
//! [`OrderedQueue`] that all threads share.

use std::ffi::OsString;
use std::sync::Arc;

use mainstay_core::{Error, Result};
use mainstay_sandbox::{Dir, Entry, EntryKind};

use super::ignore_rules::IgnoreRules;
use super::ordered_queue::{Key, OrderedQueue};
use super::page::PageLimits;
use super::path_buffer::PathBuffer;
use super::visitor::{Collector as _, ResumePoint, StopSignal, Unread, Visitor, WalkEntry, WalkOutcome};
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

/// A walk through a tree, up to one page of results.
pub(crate) struct Walk {
    /// Where the page begins; `None` is the beginning of the tree.
    pub(crate) resume: Option<ResumePoint>,
    /// Whether to include what the project ignores.
    pub(crate) ignored: bool,
    /// How many levels to walk; 1 is only the entries of the start.
    pub(crate) depth: usize,
    pub(crate) limits: PageLimits,
    pub(crate) progress: Progress,
}

impl Walk {
    /// Visits the tree below `start` until there is certainly more than one page of results.
    pub(crate) fn run<V: Visitor>(&self, start: Dir, visitor: &V) -> Result<WalkOutcome<V::Collector>> {
        let rules = if self.ignored { Arc::default() } else { IgnoreRules::of_ancestors(&start) };
        let traversal = Traversal { walk: self, visitor, start: PathBuffer::new(&start).base() };
        let source = DirectorySource::Open(start);
        let first = PendingDirectory { source, rules, resume: self.resume.clone(), depth: 0 };
        let queue = OrderedQueue::new(Task::Directory(first), self.limits);
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS);
        std::thread::scope(|scope| {
            let mut helpers = 0;
            traversal.work(&queue, || {
                // One at a time and only while tasks wait: a small tree is done before a thread would have started.
                if helpers + 1 < threads && queue.waiting() > helpers + 1 {
                    helpers += 1;
                    let _ = std::thread::Builder::new().spawn_scoped(scope, || traversal.work(&queue, || {}));
                }
            });
        });
        self.progress.check()?;
        Ok(queue.into_collected())
    }
}

enum Task {
    /// A directory to list.
    Directory(PendingDirectory),
    /// Entries of one directory to visit.
    Entries { directory: Arc<Dir>, entries: Vec<Entry> },
}

/// A directory that is still to be listed.
struct PendingDirectory {
    source: DirectorySource,
    /// The ignore rules of the directories above it.
    rules: Arc<IgnoreRules>,
    /// Where the page begins in it; `None` if all of it belongs to the page.
    resume: Option<ResumePoint>,
    depth: usize,
}

/// Directories are opened as late as possible: a wide tree would otherwise exhaust the file descriptors.
enum DirectorySource {
    Open(Dir),
    Child { parent: Arc<Dir>, name: OsString },
}

/// A directory that was listed: its entries that belong to the walk, sorted by name.
struct Listing {
    directory: Arc<Dir>,
    entries: Vec<Entry>,
    rules: Arc<IgnoreRules>,
    resume: Option<ResumePoint>,
    depth: usize,
}

/// What comes of a task: more tasks, and results.
struct TaskOutput<C> {
    tasks: Vec<(Key, Task)>,
    results: Vec<(Key, WalkOutcome<C>)>,
}

impl<C> TaskOutput<C> {
    fn result(key: &Key, result: WalkOutcome<C>) -> Self {
        Self { tasks: Vec::new(), results: vec![(key.clone(), result)] }
    }
}

type TaskQueue<V> = OrderedQueue<Task, WalkOutcome<<V as Visitor>::Collector>>;

/// A task while a thread works on it.
struct TaskRun<'a, V: Visitor> {
    key: &'a Key,
    worker: &'a mut V::Worker,
    stop: &'a StopSignal,
}

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
        while let Some((task, slot)) = queue.next() {
            if self.walk.progress.is_cancelled() {
                queue.abandon();
            } else {
                let stop = StopSignal { page_full: slot.stop(), progress: self.walk.progress.clone() };
                let mut run = TaskRun { key: &slot.key, worker: &mut worker, stop: &stop };
                let output = self.run_task(task, &mut run);
                slot.finish(output.tasks, output.results);
            }
            after_each();
        }
    }

    fn run_task(&self, task: Task, run: &mut TaskRun<'_, V>) -> TaskOutput<V::Collector> {
        match task {
            Task::Entries { directory, entries } => {
                let outcome = self.visit_all(&directory, &entries, run);
                TaskOutput::result(run.key, outcome)
            }
            Task::Directory(pending) => match self.list(pending) {
                Ok(listing) => self.split(listing, run),
                Err(error) => {
                    let unread = Unread { count: 1, reasons: vec![error.public.into_owned()] };
                    TaskOutput::result(run.key, WalkOutcome { unread, ..WalkOutcome::default() })
                }
            },
        }
    }

    /// Opens a directory and selects the entries that belong to the walk.
    fn list(&self, pending: PendingDirectory) -> Result<Listing> {
        let directory = match pending.source {
            DirectorySource::Open(directory) => directory,
            DirectorySource::Child { parent, name } => parent.child(&name)?,
        };
        if pending.depth >= MAX_DEPTH {
            let shown = directory.display();
            return Err(Error::invalid(format!("{shown} is more than {MAX_DEPTH} levels down; start the walk there.")));
        }
        let mut entries = directory.entries()?;
        let rules = if self.walk.ignored { pending.rules } else { pending.rules.extended_by(&directory, &entries) };
        // Whatever the rules say: the contents of `.git` are of no use to a search.
        entries.retain(|entry| !entry.protected && entry.name != ".git");
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
        let (resume, depth) = (pending.resume, pending.depth);
        Ok(Listing { directory: Arc::new(directory), entries, rules, resume, depth })
    }

    /// Cuts a listing at its directories: what lies between two of them is visited in batches, and each directory becomes
    /// a task. The keys keep all of it in path order.
    fn split(&self, listing: Listing, run: &mut TaskRun<'_, V>) -> TaskOutput<V::Collector> {
        let Listing { directory, entries, rules, resume, depth } = listing;
        let key = run.key;
        let mut output = TaskOutput { tasks: Vec::new(), results: Vec::new() };
        let batch_size = (entries.len() / BATCHES).clamp(MIN_BATCH, MAX_BATCH);
        let mut batch: Vec<Entry> = Vec::new();
        let mut batch_start = 0;
        let mut path = PathBuffer::new(&directory);
        let mut end_batch = |batch: &mut Vec<Entry>, at: u32, output: &mut TaskOutput<V::Collector>| {
            if batch.is_empty() {
                return;
            }
            let (key, entries) = (child_key(key, at, KeyPart::Entry), std::mem::take(batch));
            if V::PARALLEL_ENTRIES {
                output.tasks.push((key, Task::Entries { directory: directory.clone(), entries }));
            } else {
                output.results.push((key, self.visit_all(&directory, &entries, run)));
            }
        };
        for (at, entry) in (0_u32..).zip(entries) {
            let path_from_root = path.join(&entry.name);
            let found = WalkEntry { directory: &directory, entry: &entry, path_from_root, start: self.start };
            // A directory before the resume point may still contain entries after it.
            let (on_page, resume) = resume_in(resume.as_ref(), &entry);
            let wanted = on_page && self.visitor.wants(&found);
            let entered = found.is_directory() && depth + 1 < self.walk.depth && self.visitor.enters(&found);
            let name = if entered { Some(entry.name.clone()) } else { None };
            if wanted {
                if batch.is_empty() {
                    batch_start = at;
                }
                batch.push(entry);
            }
            // What comes before a directory has to be finished before it, to keep the order.
            if entered || (V::PARALLEL_ENTRIES && batch.len() >= batch_size) {
                end_batch(&mut batch, batch_start, &mut output);
            }
            if let Some(name) = name {
                let source = DirectorySource::Child { parent: directory.clone(), name };
                let pending = PendingDirectory { source, rules: rules.clone(), resume, depth: depth + 1 };
                output.tasks.push((child_key(key, at, KeyPart::Contents), Task::Directory(pending)));
            }
        }
        end_batch(&mut batch, batch_start, &mut output);
        output
    }

    /// Visits entries until the page is full or the walk is stopped.
    fn visit_all(&self, directory: &Dir, entries: &[Entry], run: &mut TaskRun<'_, V>) -> WalkOutcome<V::Collector> {
        let mut outcome = WalkOutcome::default();
        let mut path = PathBuffer::new(directory);
        for entry in entries {
            if run.stop.is_set() || self.walk.limits.exceeded(outcome.items(), outcome.bytes()) {
                break;
            }
            let found = WalkEntry { directory, entry, path_from_root: path.join(&entry.name), start: self.start };
            self.visitor.visit(run.worker, &found, run.stop, &mut outcome.collected);
        }
        outcome
    }
}

/// A directory is an entry of its parent, and comes before its contents.
#[derive(Clone, Copy)]
enum KeyPart {
    Entry,
    Contents,
}

fn child_key(key: &Key, at: u32, part: KeyPart) -> Key {
    let mut child = Vec::with_capacity(key.len() + 1);
    child.extend_from_slice(key);
    child.push(2 * at + part as u32);
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
