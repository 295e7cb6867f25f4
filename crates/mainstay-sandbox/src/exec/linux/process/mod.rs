//! Starting and ending the processes of a command.
//!
//! `launch.rs` has the server's thread that starts them, and starts the supervisor, which `init.rs` runs; `exec.rs` turns
//! the supervisor's child into the command. `child.rs` is the server's side. Without namespaces and Landlock,
//! `kill_tree.rs` ends what is left, by the list of the machine's processes.

mod child;
mod exec;
mod init;
mod kill_tree;
mod launch;
mod plan;

pub(super) use child::{Channel, ProcessTree};
pub use child::{Child, StopHandle, Terminal};
pub(super) use kill_tree::TABLE_SIZE;
pub(super) use launch::Spawner;
pub(super) use plan::Plan;
