//! Watching resources and announcing their changes, for every family.
//!
//! `watch_list.rs` remembers the resources that clients have read and how each was when last seen; `watcher.rs` looks at
//! the workspace's files once a second, asks the families' own sources, and announces what is different. Polling is used
//! instead of inotify: it needs no descriptor per file and works on network file systems.

mod watch_list;
mod watcher;

#[cfg(test)]
pub(crate) use watch_list::MAX_WATCHED;
pub(crate) use watch_list::{ResourceChange, WatchList};
pub(crate) use watcher::ChangeSource;
pub use watcher::ResourceWatcher;
