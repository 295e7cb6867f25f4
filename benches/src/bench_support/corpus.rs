//! Generated files that are the same in every run, so they are generated once and kept between runs.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::bench_support::progress;

/// A directory of generated files, and how many there are of which kind.
pub(crate) struct Corpus<T> {
    pub(crate) root: PathBuf,
    pub(crate) counts: T,
}

impl<T: Serialize + DeserializeOwned> Corpus<T> {
    /// Reuses the directory that an earlier run has generated, or generates it. Its name must change with its content.
    pub(crate) fn prepare(root: &Path, make: impl FnOnce(&Path) -> Result<T>) -> Result<Self> {
        let stamp = root.with_extension("made");
        let made = fs::read(&stamp).ok().and_then(|text| serde_json::from_slice(&text).ok());
        let counts = if let Some(counts) = made {
            counts
        } else {
            progress(&format!("generating the files in {}", root.display()));
            let counts = make_anew(root, make).with_context(|| format!("cannot make {}", root.display()))?;
            fs::write(&stamp, serde_json::to_vec(&counts)?)?;
            counts
        };
        // Relative links and `..` would not be what a server shows.
        Ok(Self { root: root.canonicalize()?, counts })
    }
}

fn make_anew<T>(root: &Path, make: impl FnOnce(&Path) -> Result<T>) -> Result<T> {
    if root.exists() {
        fs::remove_dir_all(root)?;
    }
    fs::create_dir_all(root)?;
    make(root)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unfinished_corpus_is_generated_again_and_a_finished_one_is_reused() {
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path().join("files-1");
        fs::create_dir(&root).unwrap();
        fs::write(root.join("half"), "of a run that was ended").unwrap();
        let make = |root: &Path| -> Result<usize> {
            fs::write(root.join("whole"), "")?;
            Ok(fs::read_dir(root)?.count())
        };
        assert_eq!(Corpus::prepare(&root, make).unwrap().counts, 1);
        let kept: Corpus<usize> = Corpus::prepare(&root, |_| anyhow::bail!("made twice")).unwrap();
        assert_eq!(kept.counts, 1);
    }
}
