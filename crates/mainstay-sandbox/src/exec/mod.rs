//! Commands, inside what the kernel can enforce.
//!
//! A command sees the workspace, the system's programs and a temporary directory of its own; it has no privileges, no
//! network unless it is given some, and when its call ends nothing of it is left. What cannot be enforced is not
//! promised: the command is refused instead, unless the operator has switched the sandbox off.
//!
//! Only Linux has what this needs. The build flag `--cfg mainstay_unsupported` gives the variant of the other systems, so
//! that it can be tested on Linux too.

#[cfg(all(target_os = "linux", not(mainstay_unsupported)))]
mod child;
mod command;
#[cfg(any(not(target_os = "linux"), mainstay_unsupported))]
mod elsewhere;
mod ending;
mod environment;
mod exposure;
mod limits;
#[cfg(all(target_os = "linux", not(mainstay_unsupported)))]
mod linux;
#[cfg(all(target_os = "linux", not(mainstay_unsupported)))]
mod masks;
mod output;
mod private_dir;
mod program;
mod protections;
mod reach;
mod run;
#[cfg(all(target_os = "linux", not(mainstay_unsupported)))]
mod sandbox;
mod settings;
mod streams;
mod survey;
mod telling;

#[cfg(any(not(target_os = "linux"), mainstay_unsupported))]
use elsewhere::{self as system, child, sandbox};
#[cfg(all(target_os = "linux", not(mainstay_unsupported)))]
use linux as system;

pub use child::{Child, Terminal};
pub use command::{Command, TerminalSize};
pub use ending::{ExitStatus, Signal};
pub(crate) use limits::most_open_files;
pub use output::{HeadTail, Text, Utf8Decoder, complete_utf8_prefix};
pub use protections::Protections;
pub use run::{CommandOutput, OutputListener};
pub use sandbox::Sandbox;
pub use settings::{ExecSettings, Network, SandboxMode, SessionSettings, Shell};
pub use survey::{Finding, diagnose};
pub use system::StopHandle;
