//! What the Linux kernel can enforce.

mod cgroup;
mod command;
mod filter;
mod ground;
mod init;
mod landlock;
mod launch;
mod layout;
mod line;
mod plan;
mod processes;
mod spawner;
mod stage;
mod survey;
mod sweep;
mod sys;

pub(crate) use ground::Ground;
pub use line::Stopper;
pub(crate) use line::{Line, PrivateDir, Tree, resize, watched};
pub use plan::Size;
pub(crate) use plan::{Failure, Identity, Mask, Message, Plan, Step};
pub(crate) use spawner::{Spawner, memory_limit};
pub(crate) use survey::kernel;
