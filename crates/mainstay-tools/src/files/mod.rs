//! The family `files`: reading, searching and changing files of the workspace, one file per tool.
//!
//! Every path goes through handles of the sandbox, never through path strings. Every change goes through
//! [`planning`](crate::planning): it becomes a plan, and the plan is either reported (`dry_run`) or committed.

mod append;
mod change;
mod copy;
mod delete;
mod edit;
mod glob;
mod grep;
mod head;
mod list;
mod mkdir;
mod move_path;
mod patch;
mod read;
mod read_many;
mod stat;
mod tail;
mod tree;
mod write;

mod file_tools;
#[cfg(test)]
mod planning_tests;
mod search;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

use mainstay_core::Family;
use mainstay_sandbox::{FilesSettings, Workspace};

use file_tools::FileTools;

/// The family with all its tools, in the order in which they are listed.
pub(crate) fn family(workspace: &Workspace, settings: &FilesSettings) -> Family {
    let tools = FileTools::new(workspace, settings);
    Family::new("files")
        .tool(read::Read(tools.clone()))
        .tool(read_many::ReadMany(tools.clone()))
        .tool(head::Head(tools.clone()))
        .tool(tail::Tail(tools.clone()))
        .tool(list::List(tools.clone()))
        .tool(tree::Tree(tools.clone()))
        .tool(stat::Stat(tools.clone()))
        .tool(glob::Glob(tools.clone()))
        .tool(grep::Grep(tools.clone()))
        .tool(append::Append(tools.clone()))
        .tool(change::Change(tools.clone()))
        .tool(copy::Copy(tools.clone()))
        .tool(delete::Delete(tools.clone()))
        .tool(edit::Edit(tools.clone()))
        .tool(mkdir::Mkdir(tools.clone()))
        .tool(patch::Patch(tools.clone()))
        .tool(move_path::MovePath(tools.clone()))
        .tool(write::Write(tools))
}
