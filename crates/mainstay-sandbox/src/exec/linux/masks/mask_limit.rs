//! Hides whole directories where there are more protected names than a command can have mounts.
//!
//! Every mount makes a command start later, so their number is limited; but whoever creates protected names must not be
//! able to keep others from running commands. With too many, the directories with most of them are covered: an empty
//! directory takes the place of each, so that everything protected stays hidden and everything else can be used.
//!
//! The names that were hidden first, up to half of the limit, are hidden by themselves in a covered directory too
//! ([`KnownNames::is_settled`](super::known_names::KnownNames::is_settled)). A command that is still running may be able
//! to move a directory with such a name out of a covered one, and a mask moves with it; a cover would not. All other names
//! are out of reach of the commands that were started since, or were created while those that could move them were
//! running, and were not hidden from these anyway.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashMap, HashSet};
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::FileType;

use crate::exec::linux::mounts::{Mask, MaskKind};
use crate::identity::FileId;

/// Decides what is covered.
pub(super) struct MaskLimit {
    /// The most mounts: masks, and the directories above them that have to stay in place.
    pub(super) max_mounts: usize,
    /// Paths that commands must be able to use: neither they nor the directories around them are covered.
    pub(super) kept: Vec<PathBuf>,
}

/// There are too many names, and covering more directories would not help.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct TooMany {
    /// The directory with the most of them.
    pub(super) directory: PathBuf,
    pub(super) names: usize,
}

impl MaskLimit {
    /// Replaces masks by covers until a command has no more mounts than it may. `is_settled` says which are hidden by
    /// themselves in any case.
    pub(super) fn cover(&self, masks: Vec<Mask>, is_settled: impl Fn(&Mask) -> bool) -> Result<Vec<Mask>, TooMany> {
        // Nearly always there are few, and counting every directory once for each name below it shows that.
        let above = |mask: &Mask| if mask.keeps_place { mask.path().components().count() } else { 0 };
        if masks.iter().map(|mask| 1 + above(mask)).sum::<usize>() <= self.max_mounts {
            return Ok(masks);
        }
        let tree = Tree::new(&masks, &self.kept, &is_settled);
        let mut excess = tree.mounts.saturating_sub(self.max_mounts);
        if excess == 0 {
            drop(tree);
            return Ok(masks);
        }
        let (mut covers, mut fullest) = (Vec::new(), TooMany::default());
        let mut heaviest: BinaryHeap<&Dir> = tree.outermost.iter().map(|at| &tree.dirs[*at]).collect();
        while excess > 0 {
            let Some(dir) = heaviest.pop() else { return Err(fullest) };
            let inside = || dir.inside.iter().map(|at| &tree.dirs[*at]);
            // The smallest directory that suffices.
            let cover = if inside().any(|dir| dir.saved() >= excess) { None } else { self.cover_of(dir) };
            if let Some(cover) = cover {
                excess = excess.saturating_sub(dir.saved());
                covers.push(cover);
            } else {
                if dir.names >= fullest.names {
                    fullest = TooMany { directory: dir.path.to_owned(), names: dir.names };
                }
                heaviest.extend(inside());
            }
        }
        Ok(apply(&masks, covers, is_settled))
    }

    /// The mask over a directory; `None` if that saves nothing, if it must not be covered, or if it has been moved.
    fn cover_of(&self, dir: &Dir<'_>) -> Option<Mask> {
        if dir.saved() == 0 || self.kept.iter().any(|kept| kept.starts_with(dir.path)) {
            return None;
        }
        let stat = rustix::fs::lstat(dir.path).ok()?;
        let path = CString::new(dir.path.as_os_str().as_bytes()).ok()?;
        let is_dir = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
        let identity = FileId::from(&stat);
        is_dir.then_some(Mask { path, identity, directory: true, keeps_place: true, kind: MaskKind::Crowded })
    }
}

/// A directory with protected names somewhere below it. The one that weighs most comes first.
struct Dir<'a> {
    path: &'a Path,
    /// The directories in it, by their numbers.
    inside: Vec<usize>,
    /// How many protected names are below it.
    names: usize,
    /// Those that a cover would replace, and the directories that have to stay in place only for something below it.
    weight: usize,
    /// Whether it has to stay in place itself.
    pinned: bool,
}

impl Dir<'_> {
    /// How many mounts fewer there are if it is covered, which is a mount itself.
    fn saved(&self) -> usize {
        self.weight.saturating_sub(1)
    }

    fn key(&self) -> (usize, &Path) {
        (self.weight, self.path)
    }
}

impl Ord for Dir<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl PartialOrd for Dir<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Dir<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Dir<'_> {}

/// All directories with protected names below them.
struct Tree<'a> {
    dirs: Vec<Dir<'a>>,
    /// Those that are in no other.
    outermost: Vec<usize>,
    /// How many mounts there are without covers.
    mounts: usize,
}

impl<'a> Tree<'a> {
    fn new(masks: &'a [Mask], kept: &[PathBuf], is_settled: &impl Fn(&Mask) -> bool) -> Self {
        let mut tree = Self { dirs: Vec::new(), outermost: Vec::new(), mounts: masks.len() };
        let mut known: HashMap<&Path, usize> = HashMap::new();
        for mask in masks {
            let around = kept.iter().filter(|kept| mask.path() != **kept && mask.path().starts_with(kept));
            let Some(top) = around.min_by_key(|kept| kept.as_os_str().len()) else { continue };
            let above = tree.directories_above(mask.path(), top, &mut known);
            // Nobody renames the outermost: it is a mount point, or a directory that commands cannot change.
            let inner = above.len().saturating_sub(1);
            let mut weight = usize::from(!is_settled(mask));
            for (nth, at) in above.into_iter().enumerate() {
                if mask.keeps_place && nth < inner && !std::mem::replace(&mut tree.dirs[at].pinned, true) {
                    tree.mounts += 1;
                    weight += 1;
                }
                tree.dirs[at].names += 1;
                tree.dirs[at].weight += weight;
            }
        }
        tree
    }

    /// The directories from the one that a path is in up to the outermost; adds those that are new.
    fn directories_above(&mut self, path: &'a Path, top: &Path, known: &mut HashMap<&'a Path, usize>) -> Vec<usize> {
        let mut above: Vec<usize> = Vec::new();
        let mut is_new = false;
        for directory in path.ancestors().skip(1).take_while(|directory| directory.starts_with(top)) {
            let at = *known.entry(directory).or_insert(self.dirs.len());
            // The one below it was new, so it is not in this one yet.
            let below = above.last().filter(|_| is_new).copied();
            is_new = at == self.dirs.len();
            if is_new {
                self.dirs.push(Dir { path: directory, inside: Vec::new(), names: 0, weight: 0, pinned: false });
            }
            self.dirs[at].inside.extend(below);
            above.push(at);
        }
        self.outermost.extend(above.last().filter(|_| is_new));
        above
    }
}

/// The masks without those that the covers replace, and the covers.
fn apply(masks: &[Mask], covers: Vec<Mask>, is_settled: impl Fn(&Mask) -> bool) -> Vec<Mask> {
    let covered: HashSet<&Path> = covers.iter().map(Mask::path).collect();
    let is_covered = |mask: &Mask| mask.path().ancestors().any(|above| covered.contains(above));
    let kept = masks.iter().filter_map(|mask| match is_covered(mask) {
        false => Some(mask.clone()),
        // The command cannot reach what is above it.
        true if is_settled(mask) => Some(Mask { keeps_place: false, ..mask.clone() }),
        true => None,
    });
    let kept: Vec<Mask> = kept.collect();
    kept.into_iter().chain(covers).collect()
}
