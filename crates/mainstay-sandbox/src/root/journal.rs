//! The journal: what a change of several files is about to do, on disk before it does anything.
//!
//! A record that is found by a later process belongs to one that died: it is undone, or, if it was done, cleared away.
//! A record that is locked belongs to a server that is alive.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use mainstay_core::{Error, Result, new_id};
use rustix::fs::FlockOperation;

use super::trace::{Trace, Where};
use super::{Workspace, walk};

const BEGUN: &str = "begun";
const DONE: &str = "done";

#[derive(Debug)]
pub(crate) struct Journal {
    directory: PathBuf,
}

/// One change under way.
pub(super) struct Record {
    path: PathBuf,
    /// Locked for as long as we live.
    _locked: File,
}

impl Journal {
    pub(super) fn open(directory: &Path) -> Result<Self> {
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true);
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(directory).map_err(|error| {
            Error::unavailable(format!("The journal {} cannot be made: {error}.", directory.display()))
        })?;
        Ok(Self { directory: directory.to_owned() })
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    pub(super) fn begin(&self, traces: &[&Trace]) -> Result<Record> {
        self.write(traces, BEGUN)
    }

    /// A record of what is to be cleared away whatever happens.
    pub(super) fn doom(&self, trace: &Trace) -> Result<Record> {
        self.write(&[trace], DONE)
    }

    fn write(&self, traces: &[&Trace], state: &str) -> Result<Record> {
        self.try_write(traces, state).map_err(|error| {
            Error::unavailable("The journal of changes cannot be written; nothing was changed.").with_detail(error)
        })
    }

    fn try_write(&self, traces: &[&Trace], state: &str) -> std::io::Result<Record> {
        let path = self.directory.join(new_id()).with_extension(state);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        file.write_all(&serde_json::to_vec(traces)?)?;
        file.sync_all()?;
        File::open(&self.directory)?.sync_all()?;
        Ok(Record { path, _locked: file })
    }

    /// Looks after what dead processes left. What belongs to another workspace is left for that one's server.
    pub(super) fn recover(&self, workspace: &Workspace) {
        let Ok(entries) = std::fs::read_dir(&self.directory) else { return };
        let paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        // What is undone may be put back under a name that is to be cleared away.
        for state in [BEGUN, DONE] {
            let of_state = |path: &&PathBuf| path.extension().is_some_and(|extension| extension == state);
            for path in paths.iter().filter(of_state) {
                if let Err(error) = recover_one(workspace, path) {
                    tracing::warn!(%error, record = %path.display(), "an unfinished change could not be looked after");
                }
            }
        }
    }
}

fn recover_one(workspace: &Workspace, path: &Path) -> std::io::Result<()> {
    let mut file = File::open(path)?;
    if rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
        return Ok(());
    }
    let mut text = Vec::new();
    file.read_to_end(&mut text)?;
    // Half a record: its writer died before it touched anything.
    let Ok(traces) = serde_json::from_slice::<Vec<Trace>>(&text) else { return std::fs::remove_file(path) };
    let guard = workspace.roots[0].guard();
    if !traces.iter().all(|trace| trace.is_ours(guard)) {
        tracing::warn!(record = %path.display(), "a record of a change that no server made is not obeyed");
        return std::fs::remove_file(path);
    }
    let ours = |place: &Where| workspace.roots.iter().any(|root| root.path == place.root);
    if !traces.iter().all(|trace| ours(&trace.at) && trace.to.as_ref().is_none_or(|(to, _)| ours(to))) {
        return Ok(());
    }
    let done = path.extension().is_some_and(|extension| extension == DONE);
    for trace in traces.iter().rev() {
        let Some(directory) = open(workspace, &trace.at) else { continue };
        let to = trace.to.as_ref().and_then(|(to, _)| open(workspace, to));
        if done {
            trace.clear(&directory, to.as_ref());
        } else {
            trace.undo(&directory, to.as_ref());
        }
    }
    if !done {
        tracing::info!(changes = traces.len(), "a change that was cut off has been undone");
    }
    std::fs::remove_file(path)
}

fn open(workspace: &Workspace, place: &Where) -> Option<std::os::fd::OwnedFd> {
    let root = workspace.roots.iter().find(|root| root.path == place.root)?;
    let walked = walk::walk(root, &place.names, walk::Links::Follow, "a directory of an unfinished change").ok()?;
    walked.rest.is_empty().then_some(walked.directory)
}

impl Record {
    /// The change is complete: from now on it is only cleared away, never undone.
    pub(super) fn mark_done(&mut self) -> Result<()> {
        let done = self.path.with_extension(DONE);
        std::fs::rename(&self.path, &done).map_err(Error::internal)?;
        self.path = done;
        if let Some(directory) = self.path.parent() {
            File::open(directory).and_then(|directory| directory.sync_all()).map_err(Error::internal)?;
        }
        Ok(())
    }

    pub(super) fn close(self) {
        let _ = std::fs::remove_file(&self.path);
    }
}
