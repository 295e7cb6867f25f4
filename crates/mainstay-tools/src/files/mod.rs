//! Files of the workspace. Every path goes through the sandbox's handles; what changes something goes through one
//! planner, whose plan is either shown (`dry_run`) or committed.

mod append;
mod asked;
mod change;
mod content;
mod copy;
mod delete;
mod diff;
mod edit;
mod envelope;
mod facts;
mod glob;
mod grep;
mod head;
mod hunk;
mod hunks;
mod list;
mod memory;
mod mkdir;
mod names;
mod outcome;
mod page;
mod patch;
mod pattern;
mod plan;
#[cfg(test)]
mod promises;
mod read;
mod read_many;
mod rename;
mod replace;
#[cfg(test)]
mod sample;
mod showing;
mod stat;
mod steps;
mod subtree;
mod tail;
mod text;
mod tree;
#[cfg(test)]
mod trial;
mod unified;
mod walk;
mod write;

use mainstay_core::{Error, Family, Result};
use mainstay_sandbox::{FilesSettings, Workspace};

/// What every tool of the family works on.
#[derive(Debug, Clone)]
pub(crate) struct Desk {
    pub(crate) workspace: Workspace,
    /// The most bytes of content one call returns.
    pub(crate) read_bytes: u64,
}

pub(crate) fn family(workspace: &Workspace, settings: &FilesSettings) -> Family {
    let desk = Desk { workspace: workspace.clone(), read_bytes: settings.read_bytes };
    Family::new("files")
        .tool(read::Read(desk.clone()))
        .tool(read_many::ReadMany(desk.clone()))
        .tool(head::Head(desk.clone()))
        .tool(tail::Tail(desk.clone()))
        .tool(list::List(desk.clone()))
        .tool(tree::Tree(desk.clone()))
        .tool(stat::Stat(desk.clone()))
        .tool(glob::Glob(desk.clone()))
        .tool(grep::Grep(desk.clone()))
        .tool(append::Append(desk.clone()))
        .tool(change::Change(desk.clone()))
        .tool(copy::Copy(desk.clone()))
        .tool(delete::Delete(desk.clone()))
        .tool(edit::Edit(desk.clone()))
        .tool(mkdir::Mkdir(desk.clone()))
        .tool(patch::Patch(desk.clone()))
        .tool(rename::Rename(desk.clone()))
        .tool(write::Write(desk.clone()))
}

/// Does what waits for the disk where waiting hurts nobody.
pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(Error::internal)?
}
