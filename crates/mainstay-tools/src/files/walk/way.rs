//! Going through the tree: a directory becomes entries to visit and directories to enter.

use std::ffi::OsString;
use std::sync::Arc;

use mainstay_core::{Error, Kind, Result};
use mainstay_sandbox::{Dir, Entry, EntryKind};

use super::board::{Board, Key, Turn};
use super::rules::Rules;
use super::trail::Trail;
use super::{Catch as _, Harvest, Seen, Since, Stop, Unread, Visit, Walk};

/// No directory further down is entered: each level holds a handle.
pub(super) const DEEPEST: usize = 256;

/// How many entries one thread takes at once, at most.
const BATCH: usize = 64;

/// A directory of few entries is cut into about so many pieces, each of them no smaller than this: they may be large.
const PIECES: usize = 8;
const FEW: usize = 16;

const MOST_THREADS: usize = 16;

enum Task {
    Directory(Below),
    /// Entries of one directory that are to be visited.
    Entries {
        directory: Arc<Dir>,
        entries: Vec<Entry>,
    },
}

/// A directory that has not been opened yet.
struct Below {
    opened: Opened,
    rules: Arc<Rules>,
    since: Option<Since>,
    depth: usize,
}

enum Opened {
    Start(Dir),
    Not { above: Arc<Dir>, name: OsString },
}

/// What came of a task: more tasks, and results.
struct Yield<C> {
    tasks: Vec<(Key, Task)>,
    results: Vec<(Key, Harvest<C>)>,
}

impl<C> Default for Yield<C> {
    fn default() -> Self {
        Self { tasks: Vec::new(), results: Vec::new() }
    }
}

type Tasks<V> = Board<Task, Harvest<<V as Visit>::Catch>>;

impl Walk {
    /// Visits the tree from `start` on, until there is more than one page.
    pub(crate) fn run<V: Visit>(&self, start: Dir, visit: &V) -> Result<Harvest<V::Catch>> {
        let rules = if self.ignored { Arc::default() } else { Rules::above(&start) };
        let way = Way { walk: self, visit, start: Trail::new(&start).base() };
        let first = Below { opened: Opened::Start(start), rules, since: self.since.clone(), depth: 0 };
        let board = Board::new(Task::Directory(first), self.size);
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
        std::thread::scope(|scope| {
            let mut helpers = 0;
            way.serve(&board, || {
                // A small tree is done before a thread has begun.
                if helpers + 1 < threads && board.waiting() > helpers + 1 {
                    helpers += 1;
                    let _ = std::thread::Builder::new().spawn_scoped(scope, || way.serve(&board, || {}));
                }
            });
        });
        if self.progress.is_cancelled() {
            return Err(Error::new(Kind::Cancelled, "The call was cancelled."));
        }
        Ok(board.into_caught())
    }
}

/// One walk with what it is for.
struct Way<'a, V> {
    walk: &'a Walk,
    visit: &'a V,
    /// The length of the path from the root to where the walk started, with its slash.
    start: usize,
}

impl<V: Visit> Way<'_, V> {
    fn serve(&self, board: &Tasks<V>, mut after_each: impl FnMut()) {
        let mut kit = self.visit.kit();
        while let Some(turn) = board.next() {
            if self.walk.progress.is_cancelled() {
                board.abandon();
            } else {
                self.take(turn, &mut kit);
            }
            after_each();
        }
    }

    fn take(&self, mut turn: Turn<'_, Task, Harvest<V::Catch>>, kit: &mut V::Kit) {
        let stop = Stop { unneeded: turn.stop(), progress: self.walk.progress.clone() };
        let outcome = match turn.take() {
            Some(Task::Directory(below)) => self.enter(below, &turn.key, kit, &stop),
            Some(Task::Entries { directory, entries }) => {
                let caught = self.visit_all(&directory, &entries, kit, &stop);
                Yield { tasks: Vec::new(), results: vec![(turn.key.clone(), caught)] }
            }
            None => Yield::default(),
        };
        turn.finish(outcome.tasks, outcome.results);
    }

    fn enter(&self, below: Below, key: &Key, kit: &mut V::Kit, stop: &Stop) -> Yield<V::Catch> {
        match self.list(below) {
            Ok(listing) => self.split(listing, key, kit, stop),
            Err(error) => {
                let unread = Unread { count: 1, reasons: vec![error.public.into_owned()] };
                let harvest = Harvest { unread, ..Harvest::default() };
                Yield { tasks: Vec::new(), results: vec![(key.clone(), harvest)] }
            }
        }
    }

    /// Opens a directory and finds out what in it is to be seen.
    fn list(&self, below: Below) -> Result<Listing> {
        let directory = match below.opened {
            Opened::Start(directory) => directory,
            Opened::Not { above, name } => above.child(&name)?,
        };
        if below.depth >= DEEPEST {
            let shown = directory.display();
            return Err(Error::invalid(format!("{shown} lies more than {DEEPEST} levels down; start from there.")));
        }
        let mut entries = directory.entries()?;
        let rules = if self.walk.ignored { below.rules } else { below.rules.within(&directory, &entries) };
        entries.retain(|entry| !entry.protected && entry.name != ".git");
        if !rules.is_empty() {
            let mut trail = Trail::new(&directory);
            entries.retain(|entry| !rules.ignore(trail.to(&entry.name), entry.kind == EntryKind::Directory));
        }
        if let Some(first) = below.since.as_ref().and_then(|since| since.names.first()) {
            entries.retain(|entry| entry.name >= *first);
        }
        entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        self.walk.progress.add(entries.len());
        Ok(Listing { directory: Arc::new(directory), entries, rules, since: below.since, depth: below.depth })
    }

    /// Cuts a listing into the directories in it and what lies between them.
    fn split(&self, listing: Listing, key: &Key, kit: &mut V::Kit, stop: &Stop) -> Yield<V::Catch> {
        let Listing { directory, entries, rules, since, depth } = listing;
        let mut outcome = Yield::default();
        let batch = (entries.len() / PIECES).clamp(FEW, BATCH);
        let mut run: Vec<Entry> = Vec::new();
        let mut run_key = 0;
        let mut trail = Trail::new(&directory);
        let mut end_run = |run: &mut Vec<Entry>, at: u32, outcome: &mut Yield<V::Catch>| {
            if run.is_empty() {
                return;
            }
            let (key, entries) = (child_key(key, at, Part::Itself), std::mem::take(run));
            if V::SHARED {
                outcome.tasks.push((key, Task::Entries { directory: directory.clone(), entries }));
            } else {
                outcome.results.push((key, self.visit_all(&directory, &entries, kit, stop)));
            }
        };
        for (at, entry) in (0_u32..).zip(entries) {
            let from_root = trail.to(&entry.name);
            let seen = Seen { directory: &directory, entry: &entry, from_root, start: self.start };
            let (visited, since) = position(since.as_ref(), &entry);
            let wanted = visited && self.visit.wants(&seen);
            let entered = seen.is_directory() && depth + 1 < self.walk.depth && self.visit.enters(&seen);
            let name = if entered { Some(entry.name.clone()) } else { None };
            if wanted {
                if run.is_empty() {
                    run_key = at;
                }
                run.push(entry);
            }
            if entered || (V::SHARED && run.len() >= batch) {
                end_run(&mut run, run_key, &mut outcome);
            }
            if let Some(name) = name {
                let opened = Opened::Not { above: directory.clone(), name };
                let below = Below { opened, rules: rules.clone(), since, depth: depth + 1 };
                outcome.tasks.push((child_key(key, at, Part::Content), Task::Directory(below)));
            }
        }
        end_run(&mut run, run_key, &mut outcome);
        outcome
    }

    fn visit_all(&self, directory: &Dir, entries: &[Entry], kit: &mut V::Kit, stop: &Stop) -> Harvest<V::Catch> {
        let mut harvest = Harvest::default();
        let mut trail = Trail::new(directory);
        for entry in entries {
            if stop.is_due() || self.walk.size.exceeded(harvest.items(), harvest.bytes()) {
                break;
            }
            let seen = Seen { directory, entry, from_root: trail.to(&entry.name), start: self.start };
            self.visit.visit(kit, &seen, stop, &mut harvest.caught);
        }
        harvest
    }
}

struct Listing {
    directory: Arc<Dir>,
    entries: Vec<Entry>,
    rules: Arc<Rules>,
    since: Option<Since>,
    depth: usize,
}

/// A directory is an entry itself, and comes before what is in it.
#[derive(Clone, Copy)]
enum Part {
    Itself,
    Content,
}

fn child_key(key: &Key, at: u32, part: Part) -> Key {
    let mut child = Vec::with_capacity(key.len() + 1);
    child.extend_from_slice(key);
    child.push(2 * at + part as u32);
    child
}

/// Whether an entry belongs to the page, and where the page begins inside it. Entries before it are gone already.
fn position(since: Option<&Since>, entry: &Entry) -> (bool, Option<Since>) {
    let Some(since) = since else { return (true, None) };
    match since.names.split_first() {
        Some((first, rest)) if *first == entry.name => {
            let deeper = Since { names: rest.to_vec(), inclusive: since.inclusive };
            if rest.is_empty() { (since.inclusive, None) } else { (false, Some(deeper)) }
        }
        Some(_) | None => (true, None),
    }
}
