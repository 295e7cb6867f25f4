//! Commands, inside what the kernel can enforce.
//!
//! A command sees the workspace, the system's programs and a temporary directory of its own; it has no privileges, no
//! network unless it is given some, and when its call ends nothing of it is left. What cannot be enforced is not
//! promised: the command is refused instead, unless the operator has switched the sandbox off.

mod child;
mod environment;
mod limits;
mod linux;
mod masks;
mod output;
mod program;
mod protections;
mod reach;
mod run;
mod sandbox;
mod settings;
mod survey;

pub use child::{Child, Ending, Signal, Terminal};
pub use linux::{Size, Stopper};
pub use output::{HeadTail, Pieces, Text, whole_end};
pub use protections::Protections;
pub use run::{Finished, Listener};
pub use sandbox::{Command, Sandbox};
pub use settings::{ExecSettings, Network, SandboxMode, SessionSettings, Shell};
pub use survey::{Finding, survey};
