//! Runs git to read the history of a repository: with arguments of our own, on a read-only view of the workspace, and
//! with nothing in its environment or its configuration that would make it run other programs.

mod repository;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::OnceLock;
use std::time::Duration;

use mainstay_code::churn::{History, LogParser, ParseError, blob_arguments, log_arguments, tree_arguments};
use mainstay_core::{Error, Kind, Result};
use mainstay_sandbox::Workspace;
use mainstay_sandbox::exec::{Command, ExecSettings, Sandbox};
use tokio::io::{AsyncRead, AsyncReadExt as _};

pub(crate) use self::repository::{Repository, as_project_path, open_directory, repository_top};
use crate::progress::Progress;

const GIT: &str = "git";

/// Variables of git begin with it.
const PREFIX: &str = "GIT_";

/// What is kept of git's messages; the rest is read and dropped.
const MAX_MESSAGE_BYTES: usize = 4096;

/// The size of a read. Pipes hold so much by default.
const READ_BYTES: usize = 64 * 1024;

/// The variables of git. A missing object is not fetched, nobody is asked for a password, messages are in English, and
/// output is written when a buffer is full: after every commit, each of thousands would wake this process.
///
/// The last four are those of the C library of most Linux systems: memory that git frees is used again, and comes in large
/// pages, instead of being given back and cleared by the kernel each time. That saves a tenth of git's CPU time
/// (`git log --numstat` on the histories of tokio and ripgrep: 1.65 to 1.49 s, 0.68 to 0.58 s).
const VARIABLES: &[(&str, &str)] = &[
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_ALLOW_PROTOCOL", ""),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_PAGER", "cat"),
    ("GIT_FLUSH", "0"),
    ("LC_ALL", "C"),
    ("LANGUAGE", "C"),
    ("MALLOC_MMAP_THRESHOLD_", "1073741824"),
    ("MALLOC_TRIM_THRESHOLD_", "1073741824"),
    ("MALLOC_TOP_PAD_", "67108864"),
    ("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1"),
];

/// Git, as the server runs it.
pub(crate) struct Git {
    workspace: Workspace,
    /// The operator's settings for commands; git runs under what of them applies to a program of the server's own.
    settings: ExecSettings,
    /// The longest that one run may take.
    limit: Duration,
    /// Made when it is first needed.
    sandbox: OnceLock<Sandbox>,
}

/// How a run of git has ended.
struct Ended {
    succeeded: bool,
    /// The beginning of what git wrote to its standard error.
    messages: String,
}

impl Git {
    pub(crate) fn new(workspace: &Workspace, settings: &ExecSettings, limit: Duration) -> Self {
        Self { workspace: workspace.clone(), settings: settings.clone(), limit, sandbox: OnceLock::new() }
    }

    /// The history of a repository since a time in seconds since 1970; `None` if it has no commits at all. Progress is
    /// counted in commits.
    pub(crate) async fn log(
        &self,
        repository: &Repository,
        since: Option<i64>,
        progress: &Progress,
    ) -> Result<Option<History>> {
        let arguments = log_arguments(repository.layout, since, repository.inside.as_deref());
        let mut parser = LogParser::default();
        let parse = |bytes: &[u8]| {
            let before = parser.commits();
            parser.push(bytes).map_err(|error| unusable(&error))?;
            progress.add(usize::try_from(parser.commits() - before).unwrap_or_default());
            Ok(())
        };
        let ended = self.run(repository, arguments, parse, progress).await?;
        if ended.succeeded {
            return parser.finish().map(Some).map_err(|error| unusable(&error));
        }
        // Git has one exit status for every failure; its messages are in English, because `LC_ALL` says so.
        if ended.messages.contains("does not have any commits yet") {
            return Ok(None);
        }
        Err(failure(repository, ended.messages))
    }

    /// Which of these paths are files of the newest commit.
    pub(crate) async fn existing(
        &self,
        repository: &Repository,
        paths: &HashSet<Vec<u8>>,
        progress: &Progress,
    ) -> Result<HashSet<Vec<u8>>> {
        let mut found = HashSet::new();
        let mut partial: Vec<u8> = Vec::new();
        let mut check = |path: &[u8]| {
            if paths.contains(path) {
                found.insert(path.to_vec());
            }
        };
        let collect = |bytes: &[u8]| {
            let mut parts = bytes.split(|byte| *byte == 0);
            // What follows the last NUL is the beginning of the next path.
            let Some(rest) = parts.next_back() else { return Ok(()) };
            for part in parts {
                if partial.is_empty() {
                    check(part);
                } else {
                    partial.extend_from_slice(part);
                    check(&std::mem::take(&mut partial));
                }
            }
            partial.extend_from_slice(rest);
            Ok(())
        };
        let ended = self.run(repository, tree_arguments(repository.layout), collect, progress).await?;
        if ended.succeeded { Ok(found) } else { Err(failure(repository, ended.messages)) }
    }

    /// The files of a commit with the ids of their contents in hexadecimal.
    pub(crate) async fn blobs(
        &self,
        repository: &Repository,
        commit: &str,
        progress: &Progress,
    ) -> Result<HashMap<Vec<u8>, String>> {
        let mut blobs = HashMap::new();
        let mut partial: Vec<u8> = Vec::new();
        let collect = |bytes: &[u8]| {
            partial.extend_from_slice(bytes);
            let whole = partial.iter().rposition(|byte| *byte == 0).map_or(0, |at| at + 1);
            blobs.extend(partial[..whole].split(|byte| *byte == 0).filter_map(parse_blob));
            partial.drain(..whole);
            Ok(())
        };
        let ended = self.run(repository, blob_arguments(repository.layout, commit), collect, progress).await?;
        if ended.succeeded { Ok(blobs) } else { Err(failure(repository, ended.messages)) }
    }

    /// Runs git in the top of a repository and hands its output over as it arrives. If the call is cancelled or the
    /// output is refused, git is ended.
    async fn run(
        &self,
        repository: &Repository,
        args: Vec<String>,
        mut output: impl FnMut(&[u8]) -> Result<()>,
        progress: &Progress,
    ) -> Result<Ended> {
        let cwd = Some(repository.top.display());
        let command = Command { program: GIT.into(), args, cwd, ..Command::default() };
        let work = async {
            let mut child = self.sandbox()?.start(&command).await.map_err(not_started)?;
            let (stdout, stderr) = (child.output.take(), child.errors.take());
            let mut messages = Vec::new();
            let mut keep = |bytes: &[u8]| {
                let room = MAX_MESSAGE_BYTES.saturating_sub(messages.len());
                messages.extend_from_slice(&bytes[..bytes.len().min(room)]);
                Ok(())
            };
            // Both at once: git waits when a pipe is full that nobody reads.
            tokio::try_join!(read_all(stdout, &mut output), read_all(stderr, &mut keep))?;
            let status = child.wait().await.map_err(Error::internal)?;
            let messages = String::from_utf8_lossy(&messages).into_owned();
            Ok(Ended { succeeded: status.code == 0, messages })
        };
        // Whatever ends first: dropping the child ends git.
        tokio::select! {
            ended = tokio::time::timeout(self.limit, work) => ended.map_err(|_elapsed| {
                let seconds = self.limit.as_secs();
                Error::new(Kind::TimedOut, format!(
                    "git took longer than {seconds} s; choose a shorter period, or raise code.git_seconds."
                ))
            })?,
            () = progress.cancelled() => Err(Error::new(Kind::Cancelled, "The call was cancelled.")),
        }
    }

    fn sandbox(&self) -> Result<&Sandbox> {
        if let Some(sandbox) = self.sandbox.get() {
            return Ok(sandbox);
        }
        let variables: BTreeMap<String, String> =
            VARIABLES.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
        let sandbox = Sandbox::for_own_program(&self.workspace, &self.settings, GIT, PREFIX, variables)?;
        // Another call may have been first; nothing was set up for this one yet.
        Ok(self.sandbox.get_or_init(|| sandbox))
    }
}

/// A line of `git ls-tree`: mode, type and id, then a tab and the path. `None` for what is no file.
fn parse_blob(line: &[u8]) -> Option<(Vec<u8>, String)> {
    let tab = line.iter().position(|byte| *byte == b'\t')?;
    let (entry, path) = (std::str::from_utf8(&line[..tab]).ok()?, &line[tab + 1..]);
    let [_mode, "blob", id] = entry.split(' ').collect::<Vec<_>>()[..] else { return None };
    Some((path.to_vec(), id.to_owned()))
}

/// Hands a stream over piece by piece, so that no more than one read of it is in memory.
async fn read_all(stream: Option<impl AsyncRead + Unpin>, take: &mut impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
    let Some(mut stream) = stream else { return Ok(()) };
    let mut buffer = vec![0; READ_BYTES];
    loop {
        let read = stream.read(&mut buffer).await.map_err(Error::internal)?;
        if read == 0 {
            return Ok(());
        }
        take(&buffer[..read])?;
    }
}

/// Git could not be started: it is not there, or commands cannot be confined on this machine.
fn not_started(error: Error) -> Error {
    if error.kind != Kind::Invalid {
        return error;
    }
    let text = "git is not installed where commands of this server can find it (in a directory of the search path that \
                they can read); histories cannot be analysed without it.";
    Error::unavailable(text).with_detail(error.detail.unwrap_or_else(|| error.public.into_owned()))
}

/// Git has reported an error. Its words may contain paths of the machine, so they are for the log.
fn failure(repository: &Repository, messages: String) -> Error {
    let shown = repository.top.display();
    let text = if messages.contains("not a git repository") {
        format!("{shown} has a .git that git does not accept as a repository, or that leads out of the workspace.")
    } else if messages.contains("promisor") || messages.contains("lazy fetching disabled") {
        format!("{shown} is a partial clone, and parts of its history are not here; run `git fetch --refetch` in it.")
    } else {
        format!("git could not read the history of {shown}; check it with `git fsck`, or see the server's log.")
    };
    Error::field("project_path", text).with_detail(messages)
}

/// The output of git cannot be used: there is too much of it, or it is not what these arguments give.
fn unusable(error: &ParseError) -> Error {
    match error {
        ParseError::TooManyFiles(limit) => {
            let text = limit.to_string();
            Error::new(Kind::TooLarge, text[..1].to_uppercase() + &text[1..] + ".")
        }
        ParseError::Unexpected(_) | ParseError::Incomplete => Error::internal(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_machine_without_git_is_told_so() {
        let sample = crate::testing::SampleWorkspace::with(&[]);
        let absent = Command { program: "git-of-another-machine".into(), ..Command::default() };
        let sandbox = Sandbox::new(sample.workspace().clone(), ExecSettings::default());
        let error = not_started(sandbox.start(&absent).await.err().unwrap());
        assert!(error.kind == Kind::Unavailable && error.public.starts_with("git is not installed"), "{error}");
        // Any other reason is told as it is.
        let denied = not_started(Error::denied("The operator does not allow it."));
        assert_eq!(denied.public, "The operator does not allow it.");
    }
}
