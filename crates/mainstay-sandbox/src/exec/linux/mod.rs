//! What the Linux kernel can enforce.

mod cgroup;
mod command;
mod filter;
mod ground;
mod init;
mod landlock;
mod launch;
mod layout;
mod level;
mod limits;
mod line;
mod plan;
mod processes;
mod spawner;
mod stage;
mod survey;
mod sweep;
mod sys;

pub(crate) use ground::Ground;
pub(crate) use limits::limits;
pub use line::StopHandle;
pub(crate) use line::{Line, Tree, resize, watched};
pub(crate) use plan::{Failure, Identity, Mask, Message, Plan, Step};
pub(crate) use spawner::Spawner;
pub(crate) use survey::{INSTEAD_OF_OFF, findings};
