//! File descriptors of what a principal does, reserved before they are opened.
//!
//! A plan holds the directory of each of its paths open, and its commit a new file for each; a command has its streams.
//! Without a limit one principal with many paths or many commands, even in dry runs, could take every descriptor of the
//! process: then nobody could open a file or a connection any more.

use mainstay_core::{Error, LimitReached, Principal, PrincipalPermit, Result};
use mainstay_sandbox::reserve_descriptors;

/// Descriptors of one path: its directory, a file that is copied or was there, and the new file.
const PER_PATH: usize = 3;

/// Descriptors of one command: its streams or its terminal, the channel to its supervisor and two handles of that; while
/// it is being started, also the command's own ends of them, its directory and its rules.
const PER_COMMAND: usize = 12;

/// For one path of a plan.
pub(crate) fn for_path(principal: &Principal) -> Result<PrincipalPermit> {
    reserve_descriptors(principal, PER_PATH).map_err(|reached| {
        refusal(reached, "Change fewer paths at once, or try again in a moment. Nothing was changed.")
    })
}

/// For one command, until it has ended.
pub(crate) fn for_command(principal: &Principal) -> Result<PrincipalPermit> {
    reserve_descriptors(principal, PER_COMMAND)
        .map_err(|reached| refusal(reached, "Let some of them end first. The command was not run."))
}

fn refusal(reached: LimitReached, advice: &str) -> Error {
    let (LimitReached::Total(limit) | LimitReached::PerPrincipal(limit)) = reached;
    let reason = "Commands and changes of files that are in progress have reached their limit of";
    Error::unavailable(format!("{reason} {limit} open files. {advice}"))
}
