//! `cargo xtask lines`: how many lines the product has, of code, of comments and of tests.
//!
//! The product is what is under `crates/*/src`, without the crates that exist for tests alone. Blank lines count as
//! nothing. A line is a comment if it begins with `//`. Tests are the modules behind `#[cfg(test)]`, the files and
//! folders called `tests` or `testing`, and everything outside `src`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;

use crate::project::Project;

/// Crates that no shipped binary links: all of their lines are tests.
const TEST_CRATES: [&str; 1] = ["mainstay-conformance"];

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lines {
    pub(crate) code: usize,
    pub(crate) comments: usize,
    pub(crate) tests: usize,
}

impl Lines {
    pub(crate) fn add(&mut self, other: Self) {
        self.code += other.code;
        self.comments += other.comments;
        self.tests += other.tests;
    }

    /// How many of a hundred lines of the product are comments.
    pub(crate) fn comment_percent(self) -> f64 {
        let of = |lines: usize| f64::from(u32::try_from(lines).unwrap_or(u32::MAX));
        of(self.comments) * 100.0 / of(self.code + self.comments).max(1.0)
    }
}

pub(crate) fn print(project: &Project) -> Result<ExitCode> {
    let crates = by_crate(&project.root)?;
    println!("{:<24}{:>8}{:>10}{:>10}{:>8}", "crate", "code", "comments", "share", "tests");
    let mut total = Lines::default();
    for (name, lines) in &crates {
        print_row(name, *lines);
        total.add(*lines);
    }
    print_row("product", total);
    Ok(ExitCode::SUCCESS)
}

fn print_row(name: &str, lines: Lines) {
    let Lines { code, comments, tests } = lines;
    println!("{name:<24}{code:>8}{comments:>10}{:>8.1} %{tests:>8}", lines.comment_percent());
}

/// The lines of every crate under `crates/`.
pub(crate) fn by_crate(root: &Path) -> Result<BTreeMap<String, Lines>> {
    let mut crates = BTreeMap::new();
    let directory = root.join("crates");
    for path in rust_files(&directory)? {
        let mut parts = path.strip_prefix(&directory)?.iter().map(|part| part.to_string_lossy());
        let name = parts.next().unwrap_or_default().into_owned();
        let in_source = parts.next().is_some_and(|part| part == "src");
        let for_tests = parts.any(|part| ["tests", "tests.rs", "testing", "testing.rs"].contains(&part.as_ref()));
        let mut lines = count(&fs::read_to_string(&path)?);
        if !in_source || for_tests || TEST_CRATES.contains(&name.as_str()) {
            lines = Lines { tests: lines.code + lines.tests, ..Lines::default() };
        }
        crates.entry(name).or_insert_with(Lines::default).add(lines);
    }
    Ok(crates)
}

/// All `.rs` files below a directory, in the order of their paths.
pub(crate) fn rust_files(directory: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut directories = vec![directory.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory)? {
            let path = entry?.path();
            if path.is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

/// Counts the lines of a source file. A test module is taken to be the last thing in its file, as rustfmt's style has it.
fn count(text: &str) -> Lines {
    let mut lines = Lines::default();
    let mut after_attribute = false;
    let mut in_tests = false;
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if in_tests {
            lines.tests += 1;
        } else if line.starts_with("#[cfg(test)]") {
            after_attribute = true;
        } else if after_attribute && is_module(line) {
            lines.tests += 1;
            after_attribute = false;
            in_tests = line.ends_with('{');
        } else {
            after_attribute = false;
            if line.starts_with("//") {
                lines.comments += 1;
            } else {
                lines.code += 1;
            }
        }
    }
    lines
}

/// Whether a line declares or opens a module, or imports something.
fn is_module(line: &str) -> bool {
    let item = match line.strip_prefix("pub") {
        Some(rest) => rest.trim_start_matches("(crate)").trim_start_matches("(super)").trim_start(),
        None => line,
    };
    (item.starts_with("mod ") && line.ends_with(['{', ';'])) || (item.starts_with("use ") && line.ends_with(';'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_comments_and_tests_are_told_apart() {
        let text = "//! Module.\n\nfn a() {\n    // Why.\n    b();\n}\n#[cfg(test)]\nmod testing;\n\n#[cfg(test)]\nmod tests {\n    // x\n    fn t() {}\n}\n";
        assert_eq!(count(text), Lines { code: 3, comments: 2, tests: 5 });
    }

    #[test]
    fn an_item_for_tests_outside_a_test_module_counts_as_code() {
        assert_eq!(count("#[cfg(test)]\nfn only_in_tests() {}\n"), Lines { code: 1, comments: 0, tests: 0 });
    }
}
