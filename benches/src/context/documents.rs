//! The documents that caches are built from.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use serde::{Deserialize, Serialize};

use crate::bench_support::corpus::Corpus;
use crate::context::text_corpus::document;

/// Renew it with every change to what is made here, so that older data is not taken for this.
const EDITION: u32 = 1;
const IN_A_DIRECTORY: usize = 100;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Counts {
    pub(crate) documents: usize,
    pub(crate) bytes: u64,
}

/// Takes the first `documents` that an earlier run has made under `base`, or makes them.
pub(crate) fn prepare(base: &Path, documents: usize) -> Result<Corpus<Counts>> {
    let root = base.join(format!("context-{documents}-{EDITION}"));
    Corpus::prepare(&root, |root| make(root, documents))
}

fn make(root: &Path, documents: usize) -> Result<Counts> {
    let mut bytes = 0;
    for first in (0..documents).step_by(IN_A_DIRECTORY) {
        let directory = root.join(directory_name(first / IN_A_DIRECTORY));
        fs::create_dir_all(&directory)?;
        for number in first..documents.min(first + IN_A_DIRECTORY) {
            let text = document(number);
            bytes += text.len() as u64;
            fs::write(directory.join(format!("Note-{number:06}.md")), text)?;
        }
    }
    Ok(Counts { documents, bytes })
}

/// Nested and with capitals, which an id does not keep.
fn directory_name(number: usize) -> PathBuf {
    format!("Caches{:02}/box-{:02}", number % 20, number / 20).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_documents_are_made_as_were_asked_for() {
        let scratch = tempfile::tempdir().unwrap();
        let counts = make(scratch.path(), 2_150).unwrap();
        let (mut documents, mut bytes) = (0, 0);
        let mut directories = vec![scratch.path().to_owned()];
        while let Some(directory) = directories.pop() {
            for entry in fs::read_dir(directory).unwrap() {
                let entry = entry.unwrap();
                if entry.file_type().unwrap().is_dir() {
                    directories.push(entry.path());
                } else {
                    documents += 1;
                    bytes += entry.metadata().unwrap().len();
                }
            }
        }
        assert_eq!(counts, Counts { documents, bytes });
        assert_eq!(documents, 2_150);
    }
}
