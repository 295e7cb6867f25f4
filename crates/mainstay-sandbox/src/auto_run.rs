//! Files that programs outside the sandbox run or obey without asking anybody: settings of editors and agents, hooks,
//! build configuration. Whoever may change them runs code outside the sandbox later.
//!
//! Like protected names they are found by the names that a path leads through once its links are followed, in the normal
//! form of [`guard`](crate::guard).

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::LazyLock;

use rustix::fs::AtFlags;

use crate::guard::normalize;
use crate::workspace::WriteTarget;

/// Names, and names in a directory of another name. Everything below one of them belongs to it.
pub const AUTO_RUN: &[&str] = &[
    ".mcp.json",
    ".claude",
    "CLAUDE.md",
    "CLAUDE.local.md",
    "AGENTS.md",
    ".cursor",
    ".vscode/tasks.json",
    ".vscode/launch.json",
    ".vscode/settings.json",
    ".vscode/mcp.json",
    ".envrc",
    ".cargo/config",
    ".cargo/config.toml",
    ".git/hooks",
    ".git/config",
    ".githooks",
    ".husky",
];

/// The names of each pattern in their normal form: they are compared for every change.
static PATTERNS: LazyLock<Vec<Vec<Vec<u8>>>> = LazyLock::new(|| {
    let names = |pattern: &&str| pattern.split('/').map(|name| normalize(name.as_bytes())).collect();
    AUTO_RUN.iter().map(names).collect()
});

/// Git takes any directory with an entry of this name, `objects` and `refs` for a repository, and runs what its `config`
/// and its `hooks` say.
const REPOSITORY_HEAD: &str = "HEAD";

/// Whether a path names such a file as far as its text tells. Only a hint, for preparing to ask: what counts is where the
/// path leads ([`WriteTarget::is_auto_run`]).
pub fn names_auto_run(path: &str) -> bool {
    is_auto_run(&path.split('/').map(|name| normal(OsStr::new(name))).collect::<Vec<_>>())
}

fn is_auto_run(names: &[Vec<u8>]) -> bool {
    names.last().is_some_and(|name| *name == normal(OsStr::new(REPOSITORY_HEAD)))
        || PATTERNS.iter().any(|pattern| occurs(pattern, names))
}

impl WriteTarget {
    /// Whether a change of this target, or of the entry at `inside` below it, changes what a program outside the sandbox
    /// runs.
    pub fn is_auto_run(&self, inside: &[&OsStr]) -> bool {
        let names: Vec<Vec<u8>> = self.resolved_names().chain(inside.iter().copied()).map(normal).collect();
        is_auto_run(&names) || self.is_in_bare_repository(&names)
    }

    /// Whether the target is the configuration or a hook of a directory that git takes for a repository.
    fn is_in_bare_repository(&self, names: &[Vec<u8>]) -> bool {
        let last = names.len().saturating_sub(1);
        let runs = |(at, name): &(usize, &Vec<u8>)| *name == b"hooks" || (*at == last && *name == b"config");
        // Only a directory that exists can have a head, and the target's own is the deepest one that does.
        let (directory, depth) = self.deepest_directory();
        names.iter().enumerate().filter(runs).filter(|(at, _)| *at <= depth).any(|(at, _)| {
            let head = "../".repeat(depth - at) + REPOSITORY_HEAD;
            rustix::fs::statat(directory, head, AtFlags::SYMLINK_NOFOLLOW).is_ok()
        })
    }
}

fn normal(name: &OsStr) -> Vec<u8> {
    normalize(name.as_bytes())
}

/// Whether the names of a pattern follow each other somewhere in a path.
fn occurs(pattern: &[Vec<u8>], names: &[Vec<u8>]) -> bool {
    names.windows(pattern.len()).any(|part| part == pattern)
}
