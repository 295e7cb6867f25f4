//! Commands, inside what the kernel can enforce.
//!
//! A command sees the workspace, the system's programs and a temporary directory of its own; it has no privileges, no
//! network unless it is given some, and when its call ends nothing of it is left. What cannot be enforced is not
//! promised: the command is refused instead, unless the operator has switched the sandbox off.
//!
//! Only Linux has what this needs. The build flag `--cfg mainstay_elsewhere` gives the variant of the other systems, so
//! that it can be tested on Linux too.

#[cfg(all(target_os = "linux", not(mainstay_elsewhere)))]
mod child;
mod command;
#[cfg(any(not(target_os = "linux"), mainstay_elsewhere))]
mod elsewhere;
mod ending;
mod environment;
mod limits;
#[cfg(all(target_os = "linux", not(mainstay_elsewhere)))]
mod linux;
#[cfg(all(target_os = "linux", not(mainstay_elsewhere)))]
mod masks;
mod output;
mod private_dir;
mod program;
mod protections;
mod reach;
mod run;
#[cfg(all(target_os = "linux", not(mainstay_elsewhere)))]
mod sandbox;
mod settings;
mod streams;
mod survey;
mod telling;

#[cfg(any(not(target_os = "linux"), mainstay_elsewhere))]
use elsewhere::{self as system, child, sandbox};
#[cfg(all(target_os = "linux", not(mainstay_elsewhere)))]
use linux as system;

pub use child::{Child, Terminal};
pub use command::{Command, Size};
pub use ending::{Ending, Signal};
pub(crate) use limits::most_open_files;
pub use output::{HeadTail, Pieces, Text, whole_end};
pub use protections::Protections;
pub(crate) use reach::reached;
pub use run::{Finished, Listener};
pub use sandbox::Sandbox;
pub use settings::{ExecSettings, Network, SandboxMode, SessionSettings, Shell};
pub use survey::{Finding, survey};
pub use system::Stopper;
