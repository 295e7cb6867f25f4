//! The files the servers work on.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::bench_support::corpus::Corpus;
use crate::workspace::text_corpus::{COMMON, RARE, ROUTINE, TextCorpus};

/// Renew it with every change to what is made here, so that older data is not taken for this.
const EDITION: u32 = 1;

pub(crate) const SMALL_READ: usize = 4 * 1024;
pub(crate) const LARGE_READ: usize = 64 * 1024;
const EDITED: usize = 20 * 1024;
/// What an edit replaces, and what it puts there; the next one puts it back.
pub(crate) const EDITS: [&str; 2] = ["the lamp is lit", "the lamp is out"];

const FILES_IN_A_DIRECTORY: usize = 50;
const TEXTS: usize = 40;
const TEXT_BYTES: usize = 4 * 1024 * 1024;

/// How many files a listing of the tree has to hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Counts {
    pub(crate) files: usize,
    /// Those that no `.gitignore` leaves out.
    pub(crate) not_ignored: usize,
}

pub(crate) struct WorkspaceFiles {
    pub(crate) root: PathBuf,
    pub(crate) tree: Counts,
}

impl WorkspaceFiles {
    /// Takes what an earlier run has made under `base`, or makes it.
    pub(crate) fn prepare(base: &Path, files: usize) -> Result<Self> {
        let root = base.join(format!("workspace-{files}-{EDITION}"));
        let Corpus { root, counts: tree } = Corpus::prepare(&root, |root| make(root, files))?;
        Ok(Self { root, tree })
    }
}

/// Writes the file that edits go to, as it is before the first of them.
pub(crate) fn write_edited(path: &Path) -> Result<()> {
    let mut text = TextCorpus::from(7).text(EDITED - EDITS[0].len() - 1);
    text.insert_str(EDITED / 2, EDITS[0]);
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// The last line of a file that is read: it names the file's size, so that a reply can be checked.
pub(crate) fn last_line(bytes: usize) -> String {
    format!("these were {bytes} bytes\n")
}

fn make(root: &Path, files: usize) -> Result<Counts> {
    for directory in ["read", "edit", "texts"] {
        fs::create_dir_all(root.join(directory))?;
    }
    for bytes in [SMALL_READ, LARGE_READ] {
        let end = last_line(bytes);
        let text = TextCorpus::from(1).text(bytes - end.len()) + &end;
        fs::write(root.join(format!("read/{bytes}.txt")), text)?;
    }
    make_texts(&root.join("texts"))?;
    make_tree(&root.join("tree"), files)
}

/// Files of several megabytes, in which a search spends its time reading and not opening.
fn make_texts(directory: &Path) -> Result<()> {
    let mut lines = 0_usize;
    for text in 0..TEXTS {
        let mut words = TextCorpus::from(1000 + text as u64);
        let mut file = BufWriter::new(File::create(directory.join(format!("text{text:02}.txt")))?);
        let mut written = 0;
        while written < TEXT_BYTES {
            lines += 1;
            let mut line = words.line();
            match lines {
                line_number if line_number % 400_000 == 1 => line.insert_str(0, RARE),
                line_number if line_number % 200 == 0 => line.insert_str(0, COMMON),
                line_number if line_number % 500 == 1 => line.insert_str(0, &words.routine()),
                _ => {}
            }
            file.write_all(line.as_bytes())?;
            written += line.len();
        }
        file.flush()?;
    }
    Ok(())
}

/// Many small files in nested directories, a few of them left out by rules at the top and further down.
fn make_tree(directory: &Path, files: usize) -> Result<Counts> {
    fs::create_dir_all(directory)?;
    fs::write(directory.join(".gitignore"), "*.log\nbuild/\n")?;
    let mut counts = Counts { files: 1, not_ignored: 1 };
    for first in (0..files).step_by(FILES_IN_A_DIRECTORY) {
        let number = first / FILES_IN_A_DIRECTORY;
        let leaf = directory.join(leaf_name(number));
        fs::create_dir_all(&leaf)?;
        let (built, takes_logs) = (number % 20 == 5, number.is_multiple_of(10));
        if takes_logs {
            fs::write(leaf.join(".gitignore"), "!*.log\n")?;
            counts.files += 1;
            counts.not_ignored += 1;
        }
        for file in first..files.min(first + FILES_IN_A_DIRECTORY) {
            let log = file % FILES_IN_A_DIRECTORY == FILES_IN_A_DIRECTORY - 1;
            let extension = if log { "log" } else { "txt" };
            fs::write(leaf.join(format!("file{file:06}.{extension}")), small_text(file, files))?;
            counts.files += 1;
            counts.not_ignored += usize::from(!built && (!log || takes_logs));
        }
    }
    Ok(counts)
}

fn leaf_name(number: usize) -> PathBuf {
    let mut name = PathBuf::from(format!("part{:02}/{}/{}", number / 100, number / 10 % 10, number % 10));
    if number % 20 == 5 {
        name.push("build");
    } else if number % 7 == 3 {
        name.push("deep/deeper");
    }
    name
}

fn small_text(file: usize, files: usize) -> String {
    let mut words = TextCorpus::from(1_000_000 + file as u64);
    let mut text = words.text(300 + file * 37 % 900);
    if file % (files / 10).max(1) == 3 {
        text.push_str(RARE);
    }
    if file.is_multiple_of(10) {
        text.push_str(COMMON);
    }
    if file % 25 == 7 {
        text.push_str(&words.routine());
    }
    text.push_str(ROUTINE);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_holds_as_many_files_as_it_says() {
        let scratch = tempfile::tempdir().unwrap();
        let counts = make_tree(scratch.path(), 1_100).unwrap();
        let mut found = 0;
        let mut directories = vec![scratch.path().to_owned()];
        while let Some(directory) = directories.pop() {
            for entry in fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() { directories.push(path) } else { found += 1 }
            }
        }
        assert_eq!(found, counts.files);
        // 22 directories: one of built files, one log in each of the others but the three that keep it.
        assert_eq!(counts.files - counts.not_ignored, 50 + 18);
    }

    #[test]
    fn the_edited_file_holds_once_what_is_replaced() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("edited");
        write_edited(&path).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(text.matches(EDITS[0]).count(), 1);
        assert_eq!(text.matches(EDITS[1]).count(), 0);
        assert!(text.len().abs_diff(EDITED) < 10, "{}", text.len());
    }
}
