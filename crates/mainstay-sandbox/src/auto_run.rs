//! Files that programs outside the sandbox run or obey without asking anybody: settings of editors and agents, hooks,
//! build configuration. Whoever may change them runs code outside the sandbox later.
//!
//! Like protected names they are found by the names that a path leads through once its links are followed, in the normal
//! form of [`guard`](crate::guard).

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::LazyLock;

use rustix::fs::AtFlags;

use crate::guard::normalize;
use crate::workspace::WriteTarget;

/// Names, and names in a directory of another name; `*` at the beginning of a name matches any characters. Everything below
/// one of them belongs to it. They count everywhere, not only where a program looks for them today: a directory can be
/// copied or moved, and the workspace may be a home directory. `docs/workspace.md` lists them.
pub const AUTO_RUN: &[&str] = &[
    // Agents: instructions, permissions, hooks, and servers that are started.
    ".mcp.json",
    ".claude",
    ".claude.json",
    "CLAUDE.md",
    "CLAUDE.local.md",
    "AGENTS.md",
    "AGENTS.override.md",
    "GEMINI.md",
    ".gemini",
    ".codex",
    ".cursor",
    ".cursorrules",
    ".windsurf",
    ".windsurfrules",
    ".clinerules",
    ".roo",
    ".roomodes",
    ".kiro",
    ".continue",
    ".opencode",
    "opencode.json",
    "opencode.jsonc",
    ".opencode.json",
    ".aider.conf.yml",
    ".github/copilot-instructions.md",
    ".github/instructions",
    // Editors: tasks, launch configurations, settings that name programs.
    ".vscode/tasks.json",
    ".vscode/launch.json",
    ".vscode/settings.json",
    ".vscode/mcp.json",
    "*.code-workspace",
    ".devcontainer",
    ".devcontainer.json",
    ".idea",
    ".zed",
    ".exrc",
    ".nvimrc",
    ".nvim.lua",
    ".vimrc",
    ".vim",
    ".emacs",
    ".emacs.d",
    ".config/nvim",
    ".config/emacs",
    // Programs of a project that run when its directory is entered or something is committed.
    ".envrc",
    "mise.toml",
    ".mise.toml",
    "mise.local.toml",
    ".config/mise",
    ".cargo/config",
    ".cargo/config.toml",
    ".git/hooks",
    ".git/config",
    ".githooks",
    ".husky",
    ".pre-commit-config.yaml",
    "lefthook.yml",
    ".lefthook.yml",
    "lefthook.yaml",
    ".lefthook.yaml",
    "lefthook.toml",
    ".lefthook.toml",
    // A person's own: shells, git, and what is started at login or found by name.
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".bash_aliases",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".zlogout",
    ".kshrc",
    ".cshrc",
    ".tcshrc",
    ".xprofile",
    ".xinitrc",
    ".xsession",
    ".xsessionrc",
    ".tmux.conf",
    ".screenrc",
    ".gdbinit",
    ".lldbinit",
    ".gitconfig",
    ".config/git",
    ".config/fish",
    ".config/autostart",
    ".config/systemd",
    ".config/environment.d",
    ".config/tmux",
    ".local/bin",
    ".local/share/applications",
    ".local/share/systemd",
];

/// The patterns in their normal form. They are looked up for every change, so they are found by their first name.
struct Patterns {
    /// For a first name, the names that have to follow; none for a pattern of one name.
    by_first: HashMap<Vec<u8>, Vec<Vec<Vec<u8>>>>,
    /// What the names of the patterns that begin with `*` end with.
    suffixes: Vec<Vec<u8>>,
}

static PATTERNS: LazyLock<Patterns> = LazyLock::new(|| {
    let mut patterns = Patterns { by_first: HashMap::new(), suffixes: Vec::new() };
    for pattern in AUTO_RUN {
        if let Some(suffix) = pattern.strip_prefix('*') {
            patterns.suffixes.push(normalize(suffix.as_bytes()));
            continue;
        }
        let mut names = pattern.split('/').map(|name| normalize(name.as_bytes()));
        let first = names.next().unwrap_or_default();
        patterns.by_first.entry(first).or_default().push(names.collect());
    }
    patterns
});

/// Git takes any directory with an entry of this name, `objects` and `refs` for a repository, and runs what its
/// configuration and its `hooks` say.
const REPOSITORY_HEAD: &str = "HEAD";

/// Files of a repository that say what git runs: its configuration, and the name of another directory that has it.
const REPOSITORY_FILES: [&[u8]; 3] = [b"config", b"config.worktree", b"commondir"];

/// Whether a path names such a file as far as its text tells. Only a hint, for preparing to ask: what counts is where the
/// path leads ([`WriteTarget::is_auto_run`]).
pub fn names_auto_run(path: &str) -> bool {
    is_auto_run(&path.split('/').map(|name| normal(OsStr::new(name))).collect::<Vec<_>>())
}

fn is_auto_run(names: &[Vec<u8>]) -> bool {
    let Patterns { by_first, suffixes } = &*PATTERNS;
    let begins = |(at, name): (usize, &Vec<u8>)| {
        by_first.get(name).is_some_and(|rests| rests.iter().any(|rest| names[at + 1..].starts_with(rest)))
            || suffixes.iter().any(|suffix| name.ends_with(suffix))
    };
    names.last().is_some_and(|name| *name == normal(OsStr::new(REPOSITORY_HEAD)))
        || names.iter().enumerate().any(begins)
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
        let runs = |(at, name): &(usize, &Vec<u8>)| {
            *name == b"hooks" || (*at == last && REPOSITORY_FILES.contains(&name.as_slice()))
        };
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_is_found_anywhere_in_a_path_and_is_in_the_documentation() {
        let documentation = include_str!("../../../docs/workspace.md");
        for pattern in AUTO_RUN {
            let path = pattern.replace('*', "x");
            for path in [path.clone(), format!("a/{path}"), format!("a/{path}/b/c"), path.to_uppercase()] {
                assert!(names_auto_run(&path), "{path}");
            }
            assert!(documentation.contains(&format!("`{pattern}`")), "docs/workspace.md does not name {pattern}");
        }
    }

    #[test]
    fn names_that_only_look_alike_are_not() {
        for path in [
            "config/git/x",
            ".config/x/git",
            ".config",
            ".local/share/x",
            ".github/workflows/ci.yml",
            "code-workspace",
            "x.code-workspace.txt",
            "bashrc",
            "bin/x",
            "mise",
            "HEAD/x",
        ] {
            assert!(!names_auto_run(path), "{path}");
        }
    }
}
