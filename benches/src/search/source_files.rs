//! Source files of packages, of which larger trees and queries are made.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

/// Languages that are cut along their definitions.
const EXTENSIONS: [&str; 12] = ["rs", "c", "h", "cc", "cpp", "py", "js", "ts", "go", "java", "rb", "cs"];
/// Smaller files hardly have a definition; larger ones are tables and generated bindings.
const BYTES: std::ops::RangeInclusive<u64> = 1_500..=24_000;
/// Of one package, so that none prevails.
const MOST_OF_A_PACKAGE: usize = 60;

pub(crate) struct SourceFile {
    pub(crate) extension: &'static str,
    pub(crate) text: String,
}

/// Where cargo unpacks packages: the directories below `registry/src`.
pub(crate) fn cargo_registry() -> Option<PathBuf> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")))?;
    Some(home.join("registry/src")).filter(|registry| registry.is_dir())
}

/// Files of every package below a directory of packages, in the order of their names. A package is a directory with files
/// of its own.
pub(crate) fn of_packages(directory: &Path) -> Result<Vec<SourceFile>> {
    let mut files = Vec::new();
    let mut directories = vec![directory.to_owned()];
    while let Some(directory) = directories.pop() {
        let (inner, is_package) = entries(&directory)?;
        if is_package {
            let mut package = Vec::new();
            collect(&directory, &mut package)?;
            files.extend(package);
        } else {
            directories.extend(inner);
        }
    }
    ensure!(!files.is_empty(), "{} has no source files: give a directory of packages", directory.display());
    Ok(files)
}

/// The directories in a directory, the last one first, and whether it has files.
fn entries(directory: &Path) -> Result<(Vec<PathBuf>, bool)> {
    let mut directories = Vec::new();
    let mut has_files = false;
    for entry in fs::read_dir(directory).with_context(|| format!("cannot read {}", directory.display()))? {
        let entry = entry?;
        match entry.file_type()? {
            kind if kind.is_dir() => directories.push(entry.path()),
            kind => has_files |= kind.is_file() && !entry.file_name().to_string_lossy().starts_with('.'),
        }
    }
    directories.sort_by(|one, other| other.cmp(one));
    Ok((directories, has_files))
}

fn collect(directory: &Path, files: &mut Vec<SourceFile>) -> Result<()> {
    let mut paths: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(directory)? {
        paths.push(entry?.path());
    }
    paths.sort();
    for path in paths {
        if files.len() >= MOST_OF_A_PACKAGE {
            return Ok(());
        }
        if path.is_dir() {
            collect(&path, files)?;
        } else if let Some(extension) = known_extension(&path)
            && fs::metadata(&path).is_ok_and(|metadata| BYTES.contains(&metadata.len()))
            && let Ok(text) = fs::read_to_string(&path)
        {
            files.push(SourceFile { extension, text });
        }
    }
    Ok(())
}

fn known_extension(path: &Path) -> Option<&'static str> {
    let found = path.extension()?.to_str()?;
    EXTENSIONS.into_iter().find(|extension| *extension == found)
}

/// Copies the files of one extension, and nothing else, to a directory of their own: every tool finds the same files
/// there, however it looks for them. Returns how many there are.
pub(crate) fn copy_only(extension: &str, from: &Path, to: &Path) -> Result<usize> {
    let mut copied = 0;
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| format!("cannot read {}", from.display()))? {
        let entry = entry?;
        let (path, kind) = (entry.path(), entry.file_type()?);
        let target = to.join(entry.file_name());
        if kind.is_dir() && !entry.file_name().to_string_lossy().starts_with('.') && entry.file_name() != "target" {
            copied += copy_only(extension, &path, &target)?;
        } else if kind.is_file() && path.extension().is_some_and(|found| found == extension) {
            fs::copy(&path, &target).with_context(|| format!("cannot copy {}", path.display()))?;
            copied += 1;
        }
    }
    Ok(copied)
}

/// The texts of all files with an extension, in the order of their paths.
pub(crate) fn texts(extension: &str, directory: &Path) -> Result<Vec<String>> {
    let mut paths: Vec<PathBuf> = Vec::new();
    let mut directories = vec![directory.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory)? {
            let path = entry?.path();
            if path.is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|found| found == extension) {
                paths.push(path);
            }
        }
    }
    paths.sort();
    Ok(paths.into_iter().filter_map(|path| fs::read_to_string(path).ok()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_the_extension_are_copied() {
        let scratch = tempfile::tempdir().unwrap();
        let from = scratch.path().join("from");
        for name in ["src/a.rs", "src/b.md", ".git/c.rs", "target/d.rs", "e.rs"] {
            fs::create_dir_all(from.join(name).parent().unwrap()).unwrap();
            fs::write(from.join(name), "x").unwrap();
        }
        let to = scratch.path().join("to");
        assert_eq!(copy_only("rs", &from, &to).unwrap(), 2);
        assert_eq!(texts("rs", &to).unwrap().len(), 2);
        assert!(to.join("src/a.rs").is_file() && !to.join("src/b.md").exists());
    }

    #[test]
    fn a_package_gives_files_of_known_languages_and_of_no_more_than_its_share() {
        let scratch = tempfile::tempdir().unwrap();
        let package = scratch.path().join("registry/package-1.0.0");
        fs::create_dir_all(package.join("src")).unwrap();
        fs::write(package.join("Cargo.toml"), "").unwrap();
        for number in 0..MOST_OF_A_PACKAGE + 5 {
            fs::write(package.join(format!("src/{number}.rs")), "x".repeat(2000)).unwrap();
        }
        fs::write(package.join("src/data.bin"), "x".repeat(2000)).unwrap();
        assert_eq!(of_packages(scratch.path()).unwrap().len(), MOST_OF_A_PACKAGE);
        assert!(of_packages(&package.join("src")).is_ok());
    }
}
