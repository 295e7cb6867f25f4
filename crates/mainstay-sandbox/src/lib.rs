//! The only door to user paths and processes.
//!
//! A path that a caller names is opened beneath the handle of a root and nowhere else; a command runs inside what the
//! kernel can enforce. Nothing above this crate opens a user path or starts a process.

mod guard;
mod root;
mod settings;

pub mod exec;

pub use guard::{Guard, PROTECTED};
pub use root::{
    Building, Check, Content, Dir, Done, Entry, EntryKind, Expect, Facts, Folder, OpenFile, Place, Root, Spot, Staging,
    Step, Workspace, etag_of, leads_outside,
};
pub use settings::{FilesSettings, HardLinks, RootSettings};

/// Lets this process have as many files open as the system allows it: changes of many files hold each by its handle.
pub fn raise_open_files() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = exec::most_open_files();
    if let Err(error) = setrlimit(Resource::Nofile, limit) {
        tracing::debug!(%error, "the limit of open files stays as it is");
    }
}
