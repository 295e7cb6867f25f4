//! The arguments of git that produce what the parser reads.

/// The format of a commit's header: a byte that no number of changed lines begins with, the time of the commit in
/// seconds since 1970, and the author's name after `.mailmap` was applied.
const FORMAT: &str = "--format=%x02%ct %aN";

/// What git must not do, whatever the configuration of the repository says: it comes from others. Pagers, hooks,
/// monitors and external diff programs would run code, a missing object of a partial clone would be fetched from
/// elsewhere.
const SAFE: &[&str] = &[
    "--no-pager",
    "--no-optional-locks",
    "--literal-pathspecs",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.pager=cat",
    "-c",
    "protocol.allow=never",
    // Of the machine's memory, for objects that many others are stored as differences of.
    "-c",
    "core.deltaBaseCacheLimit=256m",
];

/// The diff of each commit as git counts it by default, in the form that is cheapest to write and to read. The indent
/// heuristic moves changes within a file for readers and never alters how many lines they have, so it is left out.
const LOG: &[&str] = &[
    "log",
    "-z",
    "--numstat",
    "-M",
    "--no-ext-diff",
    "--no-textconv",
    "--no-show-signature",
    "--no-color",
    "--no-notes",
    "--no-relative",
    "--no-indent-heuristic",
    "--encoding=UTF-8",
    FORMAT,
];

/// The arguments for the log of a repository since a time in seconds since 1970; `None` is all of it. With a path,
/// relative to the top of the repository, it is limited to what is there.
pub fn log_arguments(repository: Layout, since: Option<i64>, path: Option<&str>) -> Vec<String> {
    let mut arguments = repository.arguments(LOG);
    // Git's parser of dates takes no number of seconds alone.
    if let Some(since) = since.filter(|since| *since > 0).and_then(|since| jiff::Timestamp::from_second(since).ok()) {
        arguments.push(format!("--since={since}"));
    }
    arguments.push("--".to_owned());
    arguments.extend(path.map(str::to_owned));
    arguments
}

/// The arguments for the paths of all files of the newest commit, each with a NUL byte at its end.
pub fn tree_arguments(repository: Layout) -> Vec<String> {
    repository.arguments(&["ls-tree", "-r", "-z", "--name-only", "--full-tree", "HEAD"])
}

/// The arguments that list the files of a commit with the ids of their contents.
pub fn blob_arguments(repository: Layout, commit: &str) -> Vec<String> {
    repository.arguments(&["ls-tree", "-r", "-z", "--full-tree", commit])
}

/// Where the data of a repository is, seen from its top, which is git's working directory. Git is told, so that it
/// looks nowhere else: what it finds by itself could be another repository than the one that was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// With files beside the directory, or file, `.git`.
    WorkTree,
    /// The data alone.
    Bare,
}

impl Layout {
    fn arguments(self, command: &[&str]) -> Vec<String> {
        let place: &[&str] = match self {
            Self::WorkTree => &["--git-dir=.git", "--work-tree=."],
            Self::Bare => &["--git-dir=."],
        };
        SAFE.iter().chain(place).chain(command).map(|&argument| argument.to_owned()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_before_1970_is_no_limit() {
        let log = |since| log_arguments(Layout::WorkTree, since, None);
        let limited = |since| log(since).iter().any(|argument| argument.starts_with("--since"));
        assert!(limited(Some(1_700_000_000)));
        assert!(!limited(Some(-5)) && !limited(Some(i64::MAX)) && !limited(None));
        assert!(log(Some(1_700_000_000)).contains(&"--since=2023-11-14T22:13:20Z".to_owned()));
    }

    #[test]
    fn a_path_is_always_behind_the_separator() {
        let arguments = log_arguments(Layout::Bare, None, Some("--output=x"));
        assert_eq!(arguments[arguments.len() - 2..], ["--", "--output=x"]);
    }
}
