//! Whether two caches are the same to the byte, but for the time they were made at.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

const DOCUMENTS: &str = "documents";
const MANIFEST: &str = "manifest.json";
/// The line of the manifest that may differ.
const TIME: &str = "  \"created_at\":";

pub(crate) fn ensure_equal(one: &Path, another: &Path) -> Result<()> {
    let entries = ensure_same_names(one, another)?;
    for name in entries.iter().filter(|name| *name != DOCUMENTS && *name != MANIFEST) {
        ensure_same_bytes(&one.join(name), &another.join(name))?;
    }
    let (manifest, other_manifest) = (one.join(MANIFEST), another.join(MANIFEST));
    let same = timeless(&manifest)? == timeless(&other_manifest)?;
    ensure!(same, "{} and {} differ in more than created_at", manifest.display(), other_manifest.display());
    let (documents, others) = (one.join(DOCUMENTS), another.join(DOCUMENTS));
    for name in ensure_same_names(&documents, &others)? {
        ensure_same_bytes(&documents.join(&name), &others.join(&name))?;
    }
    Ok(())
}

fn ensure_same_names(one: &Path, another: &Path) -> Result<BTreeSet<OsString>> {
    let (names, others) = (names(one)?, names(another)?);
    if let Some(name) = names.symmetric_difference(&others).next() {
        let (with, without) = if names.contains(name) { (one, another) } else { (another, one) };
        anyhow::bail!("{} has {}, and {} does not", with.display(), name.display(), without.display());
    }
    Ok(names)
}

fn names(directory: &Path) -> Result<BTreeSet<OsString>> {
    let entries = fs::read_dir(directory).with_context(|| format!("cannot list {}", directory.display()))?;
    entries.map(|entry| Ok(entry?.file_name())).collect()
}

fn ensure_same_bytes(one: &Path, another: &Path) -> Result<()> {
    ensure!(read(one)? == read(another)?, "{} and {} differ", one.display(), another.display());
    Ok(())
}

fn timeless(manifest: &Path) -> Result<Vec<u8>> {
    let text = read(manifest)?;
    let lines = text.split_inclusive(|byte| *byte == b'\n').filter(|line| !line.starts_with(TIME.as_bytes()));
    Ok(lines.flatten().copied().collect())
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(root: &Path, name: &str, created_at: &str, version: &str) -> std::path::PathBuf {
        let cache = root.join(name);
        fs::create_dir_all(cache.join(DOCUMENTS)).unwrap();
        let manifest = format!(
            "{{\n  \"cache_version\": \"{version}\",\n  \"created_at\": \"{created_at}\",\n  \"document_count\": 1\n}}"
        );
        fs::write(cache.join(MANIFEST), manifest).unwrap();
        fs::write(cache.join("index.json"), "{}").unwrap();
        fs::write(cache.join("documents/a.json"), "a").unwrap();
        cache
    }

    #[test]
    fn caches_may_differ_in_their_time_alone() {
        let scratch = tempfile::tempdir().unwrap();
        let one = cache(scratch.path(), "one", "2026-01-01T00:00:00Z", "v");
        let later = cache(scratch.path(), "later", "2026-01-02T00:00:00Z", "v");
        ensure_equal(&one, &later).unwrap();
        let other = cache(scratch.path(), "other", "2026-01-01T00:00:00Z", "w");
        assert!(ensure_equal(&one, &other).is_err());
    }

    #[test]
    fn a_changed_or_an_additional_file_is_a_difference() {
        let scratch = tempfile::tempdir().unwrap();
        let one = cache(scratch.path(), "one", "", "v");
        for (name, change) in
            [("index", "index.json"), ("document", "documents/a.json"), ("more", "documents/b.json"), ("top", "lock")]
        {
            let other = cache(scratch.path(), name, "", "v");
            fs::write(other.join(change), "changed").unwrap();
            assert!(ensure_equal(&one, &other).is_err(), "{change}");
            assert!(ensure_equal(&other, &one).is_err(), "{change}");
        }
    }
}
