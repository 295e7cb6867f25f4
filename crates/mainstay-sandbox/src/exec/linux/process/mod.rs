//! Starting and ending the processes of a command.
//!
//! `spawner.rs` is the server's thread that starts them; `launch.rs` starts the supervisor, which `init.rs` runs, and
//! `exec.rs` turns the supervisor's child into the command. `channel.rs` and `process_tree.rs` are the server's side.
//! Without namespaces and Landlock, `kill_tree.rs` ends what is left, by the list of `process_list.rs`.

mod channel;
mod exec;
mod init;
mod kill_tree;
mod launch;
mod plan;
mod process_list;
mod process_tree;
mod spawner;

pub(super) use channel::{Channel, watched};
pub(super) use kill_tree::TABLE_SIZE;
pub(super) use plan::Plan;
pub(super) use process_tree::ProcessTree;
pub use process_tree::StopHandle;
pub(super) use spawner::Spawner;
