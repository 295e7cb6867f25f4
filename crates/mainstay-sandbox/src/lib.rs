//! The only crate that opens user paths or starts processes.
//!
//! A path that a caller names is opened beneath the handle of a root and nowhere else ([`Workspace`]); a command runs
//! inside what the kernel can enforce ([`exec::Sandbox`]). A lint keeps the rest of the project from doing either by
//! itself, and `unsafe` code is allowed in this crate alone.

mod auto_run;
mod dir_watcher;
mod guard;
mod identity;
#[cfg(all(target_os = "linux", not(mainstay_unsupported)))]
mod inotify;
mod mapped_file;
mod secret_file;
mod settings;
mod workspace;

pub mod exec;

pub use auto_run::{AUTO_RUN, names_auto_run};
pub use dir_watcher::{DirChange, DirWatchId, DirWatcher, WatchError};
pub use exec::{raise_open_files, reserve_descriptors};
pub use guard::{Guard, PROTECTED};
pub use mapped_file::{MappedFile, map_own_file};
pub use secret_file::{SecretFile, read_secret_file};
pub use settings::{AutoRunPolicy, FilesSettings, HardLinks, RootSettings};
pub use workspace::{
    AtomicDir, AtomicSubdir, Content, Dir, Entry, EntryKind, Expect, Metadata, OpenFile, ReplaceCheck, Root, Staging,
    Step, StepResult, Workspace, WorkspacePath, WriteTarget, etag_of, is_outside_workspace,
};
