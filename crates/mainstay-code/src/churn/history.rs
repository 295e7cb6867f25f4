//! Adds up commits and changes, newest first, under the names that files have today.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Each path is kept in memory. The largest public repositories have had fewer.
const MAX_FILES: usize = 1_000_000;

/// A repository, or a period of it, with more paths than are kept in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("more than {MAX_FILES} files were changed; choose a shorter period or a directory")]
pub struct TooManyFiles;

/// The lines that a commit has added to a file and removed from it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) added: u64,
    pub(super) deleted: u64,
}

/// The changes of all files, by their current names.
#[derive(Debug, Default)]
pub struct History {
    files: Vec<FileRecord>,
    by_name: HashMap<Arc<[u8]>, FileNumber>,
    /// Which file a path meant at the present point of the history, if that is not the one of this name today.
    former_names: HashMap<Arc<[u8]>, FileNumber>,
    /// Renames of the present commit. They hold for the commits before it, not for its other changes.
    renames: Vec<Rename>,
    /// Files that were renamed, and the file they became: their old name has newer changes as well.
    continued: Vec<(FileNumber, FileNumber)>,
    authors: HashMap<Box<[u8]>, AuthorNumber>,
    /// By the number of the author.
    commits_by_author: Vec<u64>,
    /// Which authors have changed which files.
    authorship: HashSet<(FileNumber, AuthorNumber)>,
    commits: u64,
    /// Of the present commit.
    time: i64,
    author: AuthorNumber,
}

/// A file that has got a new path.
#[derive(Debug)]
struct Rename {
    file: FileNumber,
    old: Arc<[u8]>,
    new: Arc<[u8]>,
}

type FileNumber = u32;
type AuthorNumber = u32;

/// What is known of one file.
#[derive(Debug)]
struct FileRecord {
    path: Arc<[u8]>,
    commits: u64,
    /// The number of the commit that was counted last: a commit counts once, however it is told.
    counted: u64,
    change: Change,
    first: i64,
    last: i64,
}

/// The changes of one file in a period.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileHistory {
    /// What is not UTF-8 in it is replaced.
    pub(crate) path: String,
    pub(crate) commits: u64,
    pub(crate) authors: u64,
    pub(crate) additions: u64,
    pub(crate) deletions: u64,
    /// Times of its oldest and its newest commit, in seconds since 1970.
    pub(crate) first: i64,
    pub(crate) last: i64,
}

impl History {
    /// All commits, each once; merges and commits without changes are among them.
    pub fn commits(&self) -> u64 {
        self.commits
    }

    /// Paths that were renamed in the period and have changes that are newer than that: either something else has the
    /// name today, or another branch went on with the old name. The report has to be told which.
    pub fn uncertain_names(&self) -> impl Iterator<Item = &[u8]> {
        self.continued.iter().map(|(old, _)| &*self.files[*old as usize].path)
    }

    /// Begins the next commit, which is older than the one before in all but odd histories.
    pub(super) fn begin_commit(&mut self, time: i64, author: &[u8]) {
        self.end_commit();
        self.commits += 1;
        self.time = time;
        self.author = if let Some(&known) = self.authors.get(author) {
            known
        } else {
            let new = AuthorNumber::try_from(self.commits_by_author.len()).unwrap_or(AuthorNumber::MAX);
            self.commits_by_author.push(0);
            self.authors.insert(author.into(), new);
            new
        };
        if let Some(commits) = self.commits_by_author.get_mut(self.author as usize) {
            *commits += 1;
        }
    }

    /// Lets the renames of the commit hold for what came before it.
    pub(super) fn end_commit(&mut self) {
        if self.renames.is_empty() {
            return;
        }
        for rename in &self.renames {
            // Before this commit, the new name meant another file or none.
            self.former_names.remove(&rename.new);
        }
        for Rename { file, old, .. } in self.renames.drain(..) {
            match self.by_name.get(&old) {
                Some(&same_name) if same_name != file => self.continued.push((same_name, file)),
                Some(_) | None => {}
            }
            self.former_names.insert(old, file);
        }
    }

    /// Counts a change of the present commit.
    pub(super) fn change(&mut self, path: &[u8], change: Change) -> Result<(), TooManyFiles> {
        let file = self.file(path)?;
        self.add(file, change);
        Ok(())
    }

    /// Counts a change of a file that has got a new path in the present commit.
    pub(super) fn rename(&mut self, old: &[u8], new: &[u8], change: Change) -> Result<(), TooManyFiles> {
        let file = self.file(new)?;
        self.add(file, change);
        self.renames.push(Rename { file, old: old.into(), new: new.into() });
        Ok(())
    }

    /// The file that a path meant at this point of the history.
    fn file(&mut self, path: &[u8]) -> Result<FileNumber, TooManyFiles> {
        if let Some(&file) = self.former_names.get(path).or_else(|| self.by_name.get(path)) {
            return Ok(file);
        }
        if self.files.len() >= MAX_FILES {
            return Err(TooManyFiles);
        }
        let file = FileNumber::try_from(self.files.len()).map_err(|_| TooManyFiles)?;
        let path: Arc<[u8]> = path.into();
        self.by_name.insert(path.clone(), file);
        let (first, last) = (i64::MAX, i64::MIN);
        self.files.push(FileRecord { path, commits: 0, counted: 0, change: Change::default(), first, last });
        Ok(file)
    }

    fn add(&mut self, file: FileNumber, change: Change) {
        let record = &mut self.files[file as usize];
        if record.counted != self.commits {
            record.counted = self.commits;
            record.commits += 1;
            record.first = record.first.min(self.time);
            record.last = record.last.max(self.time);
            self.authorship.insert((file, self.author));
        }
        record.change.added = record.change.added.saturating_add(change.added);
        record.change.deleted = record.change.deleted.saturating_add(change.deleted);
    }

    /// The name of each author and the number of their commits.
    pub(crate) fn authors(&self) -> impl Iterator<Item = (String, u64)> {
        let commits = |author: AuthorNumber| self.commits_by_author.get(author as usize).copied().unwrap_or(0);
        self.authors.iter().map(move |(name, &author)| (String::from_utf8_lossy(name).into_owned(), commits(author)))
    }

    /// Every file, by path. `exists` says whether one of the [uncertain names](Self::uncertain_names) is a file of the
    /// newest commit: if it is not, its newer changes were made on another branch, and belong to the renamed file.
    pub(crate) fn files(&self, exists: &dyn Fn(&[u8]) -> bool) -> Vec<FileHistory> {
        let mut joined: HashMap<FileNumber, FileNumber> = HashMap::new();
        for &(old, new) in &self.continued {
            if !exists(&self.files[old as usize].path) {
                joined.entry(old).or_insert(new);
            }
        }
        // A name may have been joined with one that was joined itself; as often as there are joins, then it is a
        // circle.
        let target = |mut file: FileNumber| {
            for _ in 0..=joined.len() {
                match joined.get(&file) {
                    Some(&next) => file = next,
                    None => break,
                }
            }
            file
        };
        let mut sums: HashMap<FileNumber, FileHistory> = HashMap::with_capacity(self.files.len());
        for (file, record) in (0..).zip(&self.files) {
            let own = target(file);
            let path = || String::from_utf8_lossy(&self.files[own as usize].path).into_owned();
            let sum = sums.entry(own).or_insert_with(|| FileHistory {
                path: path(),
                commits: 0,
                authors: 0,
                additions: 0,
                deletions: 0,
                first: i64::MAX,
                last: i64::MIN,
            });
            sum.commits += record.commits;
            sum.additions = sum.additions.saturating_add(record.change.added);
            sum.deletions = sum.deletions.saturating_add(record.change.deleted);
            sum.first = sum.first.min(record.first);
            sum.last = sum.last.max(record.last);
        }
        if joined.is_empty() {
            for (file, _) in &self.authorship {
                count_author(&mut sums, *file);
            }
        } else {
            let authorship: HashSet<_> =
                self.authorship.iter().map(|(file, author)| (target(*file), *author)).collect();
            for (file, _) in authorship {
                count_author(&mut sums, file);
            }
        }
        let mut files: Vec<FileHistory> = sums.into_values().collect();
        files.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        files
    }
}

fn count_author(sums: &mut HashMap<FileNumber, FileHistory>, file: FileNumber) {
    if let Some(sum) = sums.get_mut(&file) {
        sum.authors += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: Change = Change { added: 1, deleted: 0 };

    /// A history from the newest commit to the oldest: each is an author and its changes, `old => new` for a rename.
    fn history(commits: &[(&str, &[&str])]) -> History {
        let mut history = History::default();
        for (number, (author, changes)) in (0..).zip(commits) {
            history.begin_commit(1000 - number, author.as_bytes());
            for change in *changes {
                match change.split_once(" => ") {
                    Some((old, new)) => history.rename(old.as_bytes(), new.as_bytes(), LINE).unwrap(),
                    None => history.change(change.as_bytes(), LINE).unwrap(),
                }
            }
        }
        history.end_commit();
        history
    }

    fn counts(history: &History, exists: bool) -> Vec<(String, u64, u64)> {
        let files = history.files(&|_| exists);
        files.into_iter().map(|file| (file.path, file.commits, file.authors)).collect()
    }

    fn named(expected: &[(&str, u64, u64)]) -> Vec<(String, u64, u64)> {
        expected.iter().map(|&(path, commits, authors)| (path.to_owned(), commits, authors)).collect()
    }

    #[test]
    fn a_file_that_was_renamed_twice_has_one_history() {
        let history = history(&[("A", &["c"]), ("B", &["b => c"]), ("A", &["b"]), ("A", &["a => b"]), ("C", &["a"])]);
        assert_eq!(counts(&history, true), named(&[("c", 5, 3)]));
    }

    #[test]
    fn two_files_that_change_names_keep_their_own_histories() {
        let history = history(&[("A", &["a => b", "b => a"]), ("A", &["a"]), ("B", &["a"]), ("C", &["b"])]);
        assert_eq!(counts(&history, true), named(&[("a", 2, 2), ("b", 3, 2)]));
    }

    #[test]
    fn a_new_file_under_an_old_name_is_another_file() {
        let history = history(&[("A", &["a"]), ("A", &["a => b"]), ("B", &["a"])]);
        assert_eq!(counts(&history, true), named(&[("a", 1, 1), ("b", 2, 2)]));
        assert_eq!(history.uncertain_names().collect::<Vec<_>>(), [b"a"]);
    }

    #[test]
    fn a_branch_that_went_on_with_the_old_name_counts_for_the_new_one() {
        let history = history(&[("S", &["a"]), ("A", &["a => b"]), ("B", &["a"])]);
        assert_eq!(counts(&history, false), named(&[("b", 3, 3)]));
    }

    #[test]
    fn an_earlier_file_under_the_new_name_is_another_file() {
        let history = history(&[("A", &["b => c"]), ("A", &["a => b"]), ("B", &["b"]), ("C", &["a"])]);
        assert_eq!(counts(&history, true), named(&[("b", 1, 1), ("c", 3, 2)]));
    }

    #[test]
    fn a_commit_counts_once_for_each_file_and_author() {
        let history = history(&[("A", &["a", "b"]), ("A", &["a"]), ("B", &[])]);
        assert_eq!(counts(&history, true), named(&[("a", 2, 1), ("b", 1, 1)]));
        let mut authors: Vec<_> = history.authors().collect();
        authors.sort();
        assert_eq!((history.commits(), authors), (3, vec![("A".to_owned(), 2), ("B".to_owned(), 1)]));
    }

    #[test]
    fn the_first_and_the_last_time_are_those_of_its_commits_in_whatever_order() {
        let mut history = History::default();
        for time in [50, 90, 10] {
            history.begin_commit(time, b"A");
            history.change(b"a", LINE).unwrap();
        }
        let files = history.files(&|_| true);
        assert_eq!((files[0].first, files[0].last), (10, 90));
    }
}
