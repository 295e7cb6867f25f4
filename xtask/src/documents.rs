//! The step `docs`: rustdoc with warnings denied, its examples, and the links between the pages.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};

use crate::process;
use crate::project::Project;

/// Builds the reference with warnings denied, runs the examples in it, and follows the pages' links.
pub(crate) fn check(project: &Project) -> Result<()> {
    let broken = broken_links(&project.root)?;
    ensure!(broken.is_empty(), "links to files that do not exist:\n  {}", broken.join("\n  "));
    let mut reference = project.cargo();
    reference.env("RUSTDOCFLAGS", "-D warnings").args(["doc", "--workspace", "--no-deps"]);
    process::run(&mut reference)?;
    process::run(project.cargo().args(["test", "--workspace", "--doc"]))
}

fn broken_links(root: &Path) -> Result<Vec<String>> {
    let mut broken = Vec::new();
    for page in pages(root)? {
        let text = fs::read_to_string(&page)?;
        let directory = page.parent().unwrap_or(root);
        for link in links(&text) {
            if !directory.join(link).exists() {
                broken.push(format!("{}: {link}", page.strip_prefix(root).unwrap_or(&page).display()));
            }
        }
    }
    Ok(broken)
}

/// The pages at the root and everything under `docs/`.
fn pages(root: &Path) -> Result<Vec<PathBuf>> {
    let mut pages = Vec::new();
    let mut directories = vec![(root.to_owned(), false), (root.join("docs"), true)];
    while let Some((directory, deep)) = directories.pop() {
        if !directory.is_dir() {
            continue;
        }
        for entry in fs::read_dir(directory)? {
            let path = entry?.path();
            if path.is_dir() && deep {
                directories.push((path, true));
            } else if path.extension().is_some_and(|extension| extension == "md") {
                pages.push(path);
            }
        }
    }
    pages.sort();
    Ok(pages)
}

/// The targets of `[text](target)` that are files, without their `#anchor`.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets
        .filter(|target| !target.contains("://") && !target.starts_with(['#', '<']) && !target.contains(' '))
        .map(|target| target.split('#').next().unwrap_or(target))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_to_files_are_found_and_others_left_alone() {
        let text = "[a](A.md#part) [b](https://example.org) [c](#here) [d](docs/d.md)";
        assert_eq!(links(text).collect::<Vec<_>>(), ["A.md", "docs/d.md"]);
    }
}
