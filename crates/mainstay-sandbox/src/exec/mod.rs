//! Commands, inside what the kernel can enforce.
//!
//! A command sees the workspace, the system's programs and a temporary directory of its own; it has no privileges, no
//! network unless the operator grants it, and when its call ends nothing of it is left. What the machine cannot enforce
//! is not promised: the command is refused instead, unless the operator has switched the sandbox off.
//!
//! Only Linux has what this needs (`linux/`). On other systems commands are refused, or run without protection if the
//! sandbox is off (`unsupported/`); the build flag `--cfg mainstay_unsupported` selects that variant on Linux, so that
//! it can be tested there.

mod capture;
mod command;
mod environment;
mod exit_status;
mod exposure;
mod limits;
#[cfg(all(target_os = "linux", not(mainstay_unsupported)))]
mod linux;
mod output_forwarder;
mod own_program;
mod private_dir;
mod program;
mod protections;
mod run;
mod settings;
mod toolchains;
#[cfg(any(not(target_os = "linux"), mainstay_unsupported))]
mod unsupported;
mod visibility;

#[cfg(all(target_os = "linux", not(mainstay_unsupported)))]
use linux as platform;
#[cfg(any(not(target_os = "linux"), mainstay_unsupported))]
use unsupported as platform;

pub use capture::{CapturedText, complete_utf8_prefix};
pub use command::{Command, TerminalSize};
pub use exit_status::{ExitStatus, Signal};
pub use exposure::{Exposure, Sensitivity, has_writable_link};
pub(crate) use limits::open_files_limit;
pub use limits::{raise_open_files, reserve_descriptors};
pub use output_forwarder::OutputListener;
pub use platform::{Child, Sandbox, StopHandle, Terminal};
pub use protections::{Finding, Protections, diagnose};
pub use run::CommandOutput;
pub use settings::{ExecSettings, Network, SandboxMode, SessionSettings, Shell};
